#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shale/report/report_json.hpp"
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

/// The pictures of a page, which are not in its JSON: of samples by row, of previews of values by
/// the number of the field and the row.
struct ReportPictures {
  std::map<std::uint64_t, ReportSample> samples = {};
  std::map<std::pair<std::size_t, std::uint64_t>, ReportImage> previews = {};
};

/// Everything that a report of a dataset shows.
struct ReportFacts {  // NOLINT(bugprone-exception-escape): what nlohmann's assertions would throw
  Json json = {};
  ReportPictures pictures = {};
  /// What the report ran into while it read, and the first of what it found by verifying: both are
  /// in the JSON, too.
  std::vector<Finding> met = {}, verified = {};

  /// Something is damaged: exit code 3.
  [[nodiscard]] bool is_damaged() const { return !met.empty() || !verified.empty(); }
};

}  // namespace shale
