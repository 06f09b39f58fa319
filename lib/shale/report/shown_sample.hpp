#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shale/report/field_roles.hpp"
#include "shale/report/thumbnails.hpp"

namespace shale {

/// One sample in a contact sheet. `key`, `class_name` and names of masks are raw bytes: who shows
/// them makes something of them that can be shown.
struct ReportSample {
  std::string key = {};  ///< where keys are the numbers of rows: that number
  std::uint64_t row = 0;
  std::optional<std::int64_t> label = {};
  std::string class_name = {};          ///< empty: none known
  std::uint64_t bytes = 0;              ///< of its payload
  std::uint32_t width = 0, height = 0;  ///< pixels of the image as stored; 0: unknown
  std::string type = {};                ///< "jpeg", "png", ...; empty: not an image
  std::vector<std::string> odd = {};    ///< "cmyk", "exif-rotated", ...
  ReportImage thumbnail = {};           ///< of the first image or frame
  std::string problem = {};             ///< why there is no thumbnail: "does not decode: ..."
  bool is_damaged = false;              ///< `problem` is damage, not size or an unknown type
  std::vector<ReportOverlay> masks = {};
  std::vector<ReportImage> frames = {};  ///< of a clip, in order: more than the thumbnail
  std::uint64_t frame_count = 0;         ///< of a list: elements it has; else 0
  /// Of a sample without an image: its fields in words, name and value, shortened.
  std::vector<std::pair<std::string, std::string>> values = {};
};

/// What a contact sheet shows of a row, and the damage that was met.
struct ShownSample {
  ReportSample sample;
  std::vector<Finding> damage;
};
/// Thread-safe. Memory: from the budgets of the set. Errors: same as finding_of_damage.
[[nodiscard]] ShownSample show_sample(const ReportedSet& set, const std::vector<FieldUse>& uses,
                                      std::uint64_t row);

/// A value in words, shortened: "float32 (10,): 0.5, 1, ...", the beginning of a string.
[[nodiscard]] std::string value_text(const Field& field, NumberKind kind, Bytes value);
/// The first characters of a string, as printable() shows them, at most `most` bytes.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// What is looked into for words; larger values are told by their size.
inline constexpr std::uint64_t kMostTold = std::uint64_t{1} << 20;

}  // namespace shale
