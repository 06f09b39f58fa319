#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/finding.hpp"
#include "shale/data/schema.hpp"
#include "shale/datasets/opened_dataset.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// The samples of an input of which some are lost: rows of a dataset, and each entry of `lost` as
/// one sample among them.
class AmongLost {
 public:
  /// Borrowed; in the order of the rows.
  explicit AmongLost(const std::vector<LostSamples>& lost);

  struct Place {
    const LostSamples* lost = nullptr;  ///< null: it is a row
    std::uint64_t row = 0;              ///< of the dataset
    std::uint64_t number = 0;           ///< the same before anything was lost, as far as is known
    std::uint64_t rows_to_lost = 0;     ///< how many rows there are up to the next lost one
  };
  [[nodiscard]] Place at(std::uint64_t sample) const;
  /// How many entries there are.
  [[nodiscard]] std::uint64_t count() const { return lost_.size(); }
  /// What the user should know, a sentence; empty: nothing is lost.
  [[nodiscard]] std::string note() const;

 private:
  const std::vector<LostSamples>& lost_;
  std::vector<std::uint64_t> samples_before_;  // lost ones, by entry
};

/// The sample that is left out for a lost range. `schema`: of the source.
[[nodiscard]] PendingSample lost_sample(const LostSamples& lost, std::uint64_t number,
                                        const Schema& schema);

/// The same as what is wrong with the file.
[[nodiscard]] Finding finding_of_lost(const LostSamples& lost);

}  // namespace shale
