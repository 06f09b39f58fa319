#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/finding.hpp"
#include "shale/columns/own_columns.hpp"
#include "shale/columns/own_rows.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// A dataset as its header describes it.
struct FoundDataset {
  std::uint64_t address = 0;  ///< of the header
  std::vector<std::uint64_t> sides;
  std::string type;  ///< NumPy's, or a few words
  ColumnExtent extent;
};

/// Where the columns lie, if each is as the plan says, inside the file, behind `head_bytes`, and
/// not in another's bytes; else nullopt, after findings. `found` has one dataset per column.
[[nodiscard]] std::optional<ShardDirectory> check_directory(const InputFile& file,
                                                            const Hdf5Plan& plan,
                                                            std::span<const FoundDataset> found,
                                                            std::uint64_t head_bytes,
                                                            const FindingSink& findings);

}  // namespace shale
