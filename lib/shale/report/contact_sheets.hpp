#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/report/field_roles.hpp"
#include "shale/report/report_facts.hpp"
#include "shale/report/sample_survey.hpp"

namespace shale {

/// Samples to be shown together; not looked at yet.
struct PlannedSheet {
  const char* kind;     ///< "random", "class", "odd", "problem"
  std::string caption;  ///< "random samples", "class 3"
  std::vector<std::uint64_t> rows = {};
  std::uint64_t of_samples = 0;  ///< how many samples the set has of this kind; 0: not counted
  std::optional<std::int64_t> label = {};
};

/// What images.csv says: a row per sample whose image is odd.
struct NotedImages {
  struct Entry {
    std::string key, words;  ///< "cmyk exif-rotated"
  };
  std::vector<Entry> entries;                    ///< a few of each kind, in the order of the set
  std::uint64_t rows = 0, bad_rows = 0;          ///< all of them; those that were kept though bad
  std::optional<std::uint64_t> odd_images = {};  ///< nullopt: not known, or the list is damaged
};
/// Errors: same as finding_of_damage.
[[nodiscard]] NotedImages read_noted_images(const ReportedSet& set, const ProvedLists& lists);

/// The odd ones and the damaged ones that the lists of the dataset name, or the survey met. Errors:
/// same as finding_of_damage.
[[nodiscard]] std::vector<PlannedSheet> plan_noted_sheets(ReportedSet& set,
                                                          const SampleSurvey& survey,
                                                          const NotedImages& noted);

/// Looks at all of them, each row once, in as many threads as the request says. Pictures take
/// kMostPictureBytes at most; what comes after is shown without. Errors: same as
/// finding_of_damage.
[[nodiscard]] Json fill_sheets(ReportedSet& set, const std::vector<FieldUse>& uses,
                               const std::vector<PlannedSheet>& planned, ReportPictures& pictures);

/// A look at a few rows of arrays and texts: a picture, a line, or words. By field; null for other
/// fields. Errors: same as finding_of_damage.
[[nodiscard]] std::vector<Json> make_previews(ReportedSet& set, const std::vector<FieldUse>& uses,
                                              std::span<const std::uint64_t> rows,
                                              ReportPictures& pictures);

inline constexpr std::uint64_t kMostPictureBytes = std::uint64_t{3} << 20;

}  // namespace shale
