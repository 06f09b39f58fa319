#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// The option of manifests that holds SoughtFiles::text().
inline constexpr std::string_view kSuffixesOption = "ext";

/// Which files of a folder are samples, by their names: images, or files with chosen suffixes, such
/// as videos.
class SoughtFiles {
 public:
  /// Images, as torchvision takes them.
  SoughtFiles() = default;
  /// `suffixes`: "mp4,wav", with or without dots, in any case and order; empty: images.
  /// Errors: Code::usage for an empty suffix, or one with other bytes than letters, digits and
  /// . _ - +
  explicit SoughtFiles(std::string_view suffixes);

  [[nodiscard]] bool are_images() const { return suffixes_.empty(); }
  [[nodiscard]] bool takes(std::string_view name) const;
  /// The field that holds them: "image"; "video" or "audio" where all suffixes are of that kind;
  /// else "data".
  [[nodiscard]] std::string field() const;
  /// "mp4,wav": lower case, sorted, each once; empty: images.
  [[nodiscard]] std::string text() const;

  /// For messages: "image" or "file"; "3 images" or "1 file".
  [[nodiscard]] std::string_view one() const { return are_images() ? "image" : "file"; }
  [[nodiscard]] std::string counted(std::uint64_t count) const;
  /// "images", or "files with the suffix .mp4 or .wav".
  [[nodiscard]] std::string described() const;

 private:
  std::vector<std::string> suffixes_;  // with the dot
};

/// What --ext says, as SoughtFiles::text(). Errors: Code::usage, also for an empty string.
[[nodiscard]] std::string suffixes_option(std::string_view text);

}  // namespace shale
