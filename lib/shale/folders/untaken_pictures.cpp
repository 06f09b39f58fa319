#include "shale/folders/untaken_pictures.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"

namespace shale {
namespace {

using std::literals::string_view_literals::operator""sv;

struct Signature {
  std::size_t offset;
  std::string_view bytes, type;
};
constexpr Signature kSignatures[] = {
    {0, "\xff\xd8\xff"sv, "jpeg"},  {0, "\x89PNG\r\n\x1a\n"sv, "png"},
    {0, "GIF8"sv, "gif"},           {0, "II*\0"sv, "tiff"},
    {0, "MM\0*"sv, "tiff"},         {8, "WEBPVP8"sv, "webp"},
    {0, "8BPS"sv, "psd"},           {0, "v/1\x01"sv, "exr"},
    {0, "\xff\x0a"sv, "jxl"},       {4, "JXL \r\n\x87\n"sv, "jxl"},
    {4, "jP  \r\n\x87\n"sv, "jp2"}, {0, "\xff\x4f\xff\x51"sv, "jp2"},
    {4, "ftypavif"sv, "avif"},      {4, "ftypavis"sv, "avif"},
    {4, "ftyphei"sv, "heic"},       {4, "ftyphev"sv, "heic"},
    {4, "ftypmif1"sv, "heic"},      {4, "ftypmsf1"sv, "heic"},
};
constexpr std::string_view kSuffixes[] = {".heic", ".heif", ".avif", ".jp2", ".j2k",  ".jxl",
                                          ".gif",  ".jfif", ".jpe",  ".psd", ".tiff", ".dng"};
constexpr std::string_view kUntaken = "a picture that is not taken: ";
constexpr std::uint64_t kMostOthers = 1000;

bool has_suffix_of_picture(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string suffix(path.substr(dot));
  std::ranges::transform(suffix, suffix.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return std::ranges::find(kSuffixes, suffix) != std::end(kSuffixes);
}

}  // namespace

std::string_view picture_type_of(Bytes head) {
  const std::string_view bytes = as_text(head);
  for (const Signature& one : kSignatures) {
    if (bytes.size() >= one.offset && bytes.substr(one.offset).starts_with(one.bytes))
      return one.type;
  }
  return {};
}

std::string UntakenPictures::reason_for(const std::string& path, std::string_view otherwise) {
  if (!has_suffix_of_picture(path) && ++looked_at_ > kMostOthers) return std::string(otherwise);
  try {
    std::array<std::byte, 16> head{};
    const std::uint64_t got = InputFile(path).read_some(0, head);
    const std::string_view type = picture_type_of(std::span(head).first(got));
    return std::string(type.empty() ? otherwise : kUntaken).append(type);
  } catch (const Error&) {
    return std::string(otherwise);  // nothing is to be read of it
  }
}

void add_untaken(LeftOutList& left_out, std::string_view reason) {
  if (!reason.starts_with(kUntaken)) return;
  left_out.add({.kind = "picture",
                .name = std::string(reason.substr(kUntaken.size())),
                .reason = "type_not_taken",
                .samples = 1});
}

}  // namespace shale
