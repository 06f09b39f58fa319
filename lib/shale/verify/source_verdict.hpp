#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/verify.hpp"

namespace shale {

/// What a comparison has found: what a verdict is made of.
struct ComparedFacts {
  std::uint64_t same = 0, different = 0;
  std::uint64_t not_in_source = 0;   ///< of the dataset, but for those of other runs
  std::uint64_t of_other_runs = 0;   ///< not in the source either, as none of its run is
  std::uint64_t runs_found = 0;      ///< of a dataset that was appended to: those in the source
  std::uint64_t not_in_dataset = 0;  ///< of the source, that should be there
  std::uint64_t left_out = 0;        ///< of the source, by a dataset of chosen samples
  std::uint64_t skipped = 0;         ///< of the source: in skipped.csv of the dataset, or bad
  std::uint64_t lost_rows = 0;       ///< of the dataset, in shards that cannot be opened
  std::uint64_t in_lost_shards = 0;  ///< of the source, as many as those shards had
  std::vector<std::string> lost_shards = {};  ///< their names
  bool is_damaged = false;                    ///< the dataset is not as it was written
  std::uint64_t under_other_keys = 0;         ///< where no key is in both: of not_in_source
  bool is_in_other_order = false;
  bool has_other_order_of_fields = false;
  std::vector<std::string> fields_besides = {};     ///< of the source, which are not in the dataset
  std::vector<std::string> fields_uncompared = {};  ///< of the dataset, which are not in the source
};

/// The verdict and its sentence. `findings` is left to the caller.
[[nodiscard]] SourceComparison judge(const ComparedFacts& facts, const Manifest& dataset);

/// True for a dataset that was made of some of its input: by --select, --exclude, --split or
/// --part.
[[nodiscard]] bool is_of_some_samples(const Manifest& dataset);

}  // namespace shale
