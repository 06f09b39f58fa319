#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shale/data/image_report.hpp"
#include "shale/numbers/bins.hpp"
#include "shale/numbers/number_facts.hpp"
#include "shale/report/field_roles.hpp"

namespace shale {

/// What the numbers of a field are, and how they spread: a second walk, which knows the range,
/// counts the bars.
struct NumberSummary {
  NumberCounts numbers = {};
  WidthBins bins = {};

  /// Between the two walks.
  void begin_bins(bool are_whole) {
    if (numbers.finite_count() > 0)
      bins = WidthBins(numbers.minimum(), numbers.maximum(), are_whole);
  }
};

/// What the payload of the drawn samples is: arrays as numbers, images by their headers.
struct SampleSurvey {
  struct OfField : NumberSummary {
    std::uint64_t looked_at = 0;         ///< samples
    std::uint64_t too_large = 0;         ///< values that were not read
    std::vector<NumberSummary> columns;  ///< of a structured type, as columns_of() has them
  };
  std::vector<OfField> fields;
  ImageReport images;                       ///< of the fields of images; without duplicates
  std::uint64_t looked_at = 0;              ///< samples whose images were read
  std::uint64_t odd_images = 0;             ///< of them: with an odd image
  std::vector<std::uint64_t> odd, damaged;  ///< rows that are worth a look: the first of each
};

/// Reads the drawn samples, in as many threads as the request says; the result does not depend on
/// them, nor on the memory, but that a value of more than set.most_value_bytes() is not read.
/// Arrays of large rows are read for fewer samples: kBytesOfField of them, unless all are wanted.
/// `value_bytes`: what a value takes on average, by field. `reads_images`: the manifest does not
/// say what they are. Errors: same as finding_of_damage.
[[nodiscard]] SampleSurvey survey_samples(ReportedSet& set, const SampleRows& sample,
                                          const std::vector<FieldUse>& uses,
                                          std::span<const std::uint64_t> value_bytes,
                                          bool reads_images);

inline constexpr std::uint64_t kBytesOfField = std::uint64_t{256} << 20;

}  // namespace shale
