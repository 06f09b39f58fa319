#include "shale/folders/sought_files.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/image/probe.hpp"

namespace shale {
namespace {

constexpr std::array<std::string_view, 8> kVideoSuffixes = {".avi", ".m4v",  ".mkv", ".mov",
                                                            ".mp4", ".mpeg", ".mpg", ".webm"};
constexpr std::array<std::string_view, 7> kAudioSuffixes = {".aac", ".flac", ".m4a", ".mp3",
                                                            ".ogg", ".opus", ".wav"};

char lower(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

std::string suffix_of(std::string_view text, std::string_view all) {
  std::string suffix(text.starts_with('.') ? text.substr(1) : text);
  std::ranges::transform(suffix, suffix.begin(), lower);
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789._-+";
  if (suffix.empty() || suffix.find_first_not_of(kAllowed) != std::string::npos) {
    throw Error(Code::usage, "--ext '{}' names the suffix '{}'", printable(all), printable(text))
        .hint("pass suffixes of letters and digits, separated by commas: --ext mp4,wav");
  }
  return suffix.insert(0, 1, '.');
}

}  // namespace

SoughtFiles::SoughtFiles(std::string_view suffixes) {
  for (std::string_view left = suffixes; !suffixes.empty();) {
    const std::size_t comma = left.find(',');
    suffixes_.push_back(suffix_of(left.substr(0, comma), suffixes));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  std::ranges::sort(suffixes_);
  suffixes_.erase(std::unique(suffixes_.begin(), suffixes_.end()), suffixes_.end());
}

bool SoughtFiles::takes(std::string_view name) const {
  if (are_images()) return has_image_suffix(name);
  return std::ranges::any_of(suffixes_, [&](const std::string& suffix) {
    return name.size() >= suffix.size() &&
           std::ranges::equal(name.substr(name.size() - suffix.size()), suffix, {}, lower);
  });
}

std::string SoughtFiles::field() const {
  const auto are_all_of = [this](std::span<const std::string_view> kind) {
    return std::ranges::all_of(suffixes_, [&](const std::string& suffix) {
      return std::ranges::find(kind, suffix) != kind.end();
    });
  };
  if (are_images()) return "image";
  if (are_all_of(kVideoSuffixes)) return "video";
  if (are_all_of(kAudioSuffixes)) return "audio";
  return "data";
}

std::string SoughtFiles::text() const {
  std::string text;
  for (const std::string& suffix : suffixes_) {
    if (!text.empty()) text += ',';
    text.append(suffix, 1);
  }
  return text;
}

std::string SoughtFiles::counted(std::uint64_t count) const {
  return are_images() ? format_counted(count, "image", "images")
                      : format_counted(count, "file", "files");
}

std::string SoughtFiles::described() const {
  if (are_images()) return "images";
  return fmt::format("files with the suffix {}", fmt::join(suffixes_, " or "));
}

Error SoughtFiles::none_in(const std::string& root) const {
  return Error(Code::bad_content, "holds no {}", described())
      .at(root)
      .hint(are_images() ? "an image is a file with the suffix .jpg .jpeg .png .ppm .bmp .pgm .tif "
                           ".tiff or .webp; --allow-empty makes an empty dataset"
                         : "--allow-empty makes an empty dataset");
}

Error SoughtFiles::none_in_class(std::string_view name, const std::string& path,
                                 std::uint64_t loose) const {
  if (loose > 0) {
    return Error(Code::bad_content, "folder '{}' has no {}, but {} beside it", printable(name),
                 described(), loose == 1 ? "one is" : fmt::format("{} are", loose))
        .at(path)
        .hint(fmt::format(
            "if the {} beside it are the samples, move the folder away; if it is a class, pass "
            "--allow-empty",
            are_images() ? "images" : "files"));
  }
  return Error(Code::bad_content, "class '{}' has no {}", printable(name), described())
      .at(path)
      .hint("remove the folder, or pass --allow-empty to keep the class without samples");
}

Error SoughtFiles::none_in_classes(std::uint64_t loose, const std::string& root) const {
  return Error(Code::bad_content, "holds {} but no class folders", counted(loose)).at(root);
}

Error SoughtFiles::in_hidden_class(std::string_view what, const std::string& path) {
  return Error(Code::bad_content, "hidden folder holds {} and may be a class", what)
      .at(path)
      .hint(
          "pass --hidden skip to leave it out, or --hidden keep to include it as torchvision "
          "does");
}

std::string suffixes_option(std::string_view text) {
  if (text.empty()) (void)suffix_of(text, text);
  return SoughtFiles(text).text();
}

}  // namespace shale
