#include "shale/ops/class_table.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/input_file.hpp"
#include "shale/ops/csv.hpp"
#include "shale/shards/manifest_file.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLargestTableBytes = 64 << 20;

}  // namespace

ClassTable::ClassTable(std::vector<std::string> names, std::string_view where)
    : names_(std::move(names)) {
  by_name_.resize(names_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return names_[a] < names_[b]; });
  for (std::size_t i = 1; i < by_name_.size(); ++i) {
    if (names_[by_name_[i]] == names_[by_name_[i - 1]]) {
      throw Error(Code::bad_content, "class '{}' is listed twice, as {} and {}",
                  printable(names_[by_name_[i]]), by_name_[i - 1], by_name_[i])
          .at(where)
          .hint("a class has one label: remove one of the two lines");
    }
  }
}

std::optional<std::int64_t> ClassTable::label_of(std::string_view name) const {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](std::uint32_t label, std::string_view wanted) { return names_[label] < wanted; });
  if (found == by_name_.end() || names_[*found] != name) return std::nullopt;
  return *found;
}

ClassTable load_class_table(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;  // what is wrong with the path shows when it is opened
  if (std::filesystem::is_directory(path, error)) {
    names = read_manifest(path).classes;
  } else {
    const std::vector<std::byte> bytes = read_file(path, kLargestTableBytes);
    std::string_view text = without_byte_order_mark(as_text(bytes));
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = trimmed(text.substr(0, end));
      if (!line.empty()) names.emplace_back(line);
      text = end == std::string_view::npos ? "" : text.substr(end + 1);
    }
  }
  if (names.empty()) {
    throw Error(Code::bad_content, "holds no class table")
        .at(path)
        .hint(
            "--classes-from takes a shale dataset that has classes, or a text file with one class "
            "name a line");
  }
  return ClassTable(std::move(names), path);
}

}  // namespace shale
