#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shale/data/left_out.hpp"
#include "shale/data/sample_axis.hpp"
#include "shale/format/format.hpp"
#include "shale/trees/hdf5_description.hpp"

namespace shale {

/// The datasets of a file that are columns of one table, by path, and what of the file is left out.
struct Hdf5Table {
  std::vector<const Hdf5Dataset*> datasets;  ///< of the description; none: there is no table
  UnpackReport left;
};

/// Those that are asked for by path or by field name, with their offsets and keys; without names
/// the datasets at the root, and those in groups that have as many rows; where nothing is at the
/// root those in groups, if all of them have as many. Groups that are called like a split are never
/// joined with anything else.
/// Errors: Code::unsupported, with both, for datasets of different numbers of rows, and for groups
/// that may as well be samples.
[[nodiscard]] Hdf5Table choose_hdf5_table(const Hdf5Description& description,
                                          const std::vector<std::string>& fields = {});

/// Sets the axes of the datasets that are named. Errors: Code::usage for a name, or an axis, that
/// is not there.
void set_hdf5_axes(Hdf5Description& description, const std::vector<SampleAxis>& axes);

/// One of Hdf5Description::others: "group 'meta'".
[[nodiscard]] LeftOut left_out_of_words(const std::string& words, std::string_view reason);
/// "group 'mask'" of each group at the root that has datasets, but none of these.
[[nodiscard]] std::vector<std::string> hdf5_groups_without(
    const Hdf5Description& description, const std::vector<const Hdf5Dataset*>& datasets);

/// The error for datasets that have different numbers of rows.
[[nodiscard]] Error other_hdf5_rows(const Hdf5Dataset& first, std::uint64_t first_rows,
                                    const Hdf5Dataset& other, std::uint64_t rows);

}  // namespace shale
