#include "shale/requests/convert_request.hpp"

#include <algorithm>
#include <charconv>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/format/format.hpp"
#include "shale/format/layout.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLeastEndured = 10;
bool ends_in_one_of(std::string_view output, std::span<const std::string_view> suffixes) {
  return std::ranges::any_of(suffixes,
                             [&](std::string_view suffix) { return output.ends_with(suffix); });
}

}  // namespace

std::uint64_t ErrorAllowance::limit(std::uint64_t samples) const {
  if (!is_share) return count;
  return std::max(kLeastEndured, static_cast<std::uint64_t>(share * static_cast<double>(samples)));
}

std::vector<std::string> inputs_of(const ConvertRequest& request) {
  std::vector<std::string> inputs = inputs_of(static_cast<const InputRequest&>(request));
  for (const SplitPart& part : request.split.parts) {
    if (!part.file.empty()) inputs.push_back(part.file);
  }
  return inputs;
}

const Format* format_of_output(std::string_view output) {
  if (is_archive_name(output)) return &format_named("npy");
  for (const Format* format : all_formats()) {
    if (ends_in_one_of(output, format->suffixes) || ends_in_one_of(output, format->more_suffixes))
      return format;
  }
  return nullptr;
}

const Layout* layout_of(const ConvertRequest& request) {
  return request.layout.empty() ? nullptr : layout_named(request.layout).layout;
}

OutputKind kind_of_output(const ConvertRequest& request) {
  if (request.output == kStdout) return OutputKind::stream;
  if (is_array_name(request.output)) return OutputKind::array;
  if (is_archive_name(request.output)) return OutputKind::archive;
  if (is_tensor_name(request.output)) return OutputKind::tensors;
  if (format_of_output(request.output) != nullptr) return OutputKind::container_file;
  if (const Layout* const layout = layout_of(request)) {
    if (layout->writes == Layout::Writes::class_files) return OutputKind::class_files;
    if (layout->writes == Layout::Writes::list_files) return OutputKind::list_files;
  }
  return request.is_append ? OutputKind::appended : OutputKind::shards;
}

ErrorAllowance parse_error_allowance(std::string_view text) {
  if (!text.ends_with('%'))
    return {.is_share = false, .share = 0, .count = parse_count(text, "--max-errors")};
  double percent = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || stop != end || !(percent >= 0 && percent <= 100)) {
    throw Error(Code::usage,
                "--max-errors '{}' is neither a number nor a percentage from 0% to 100%",
                printable(text));
  }
  return {.is_share = true, .share = percent / 100, .count = 0};
}

}  // namespace shale
