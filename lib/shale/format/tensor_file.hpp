#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "shale/data/stored_tensor.hpp"
#include "shale/format/format.hpp"

// What the formats of tensor files have in common: one tensor per field, its first axis the
// samples.

namespace shale {

/// As column_files_layout. `has` says which dtypes the format has. Errors: the same;
/// Code::unsupported, by field, for other dtypes.
[[nodiscard]] ShardLayout tensor_layout(const Schema& schema, std::string_view kind,
                                        std::string_view suffix, bool (*has)(const TensorType&));

/// The column of a field with so many rows.
[[nodiscard]] TensorColumn tensor_column_of(const Field& field, std::uint64_t rows);

/// The tensors of a file of another tool as columns of rows: all have the same number of rows and
/// lie in C order. Errors: Code::unsupported, by name, for any other, for those that cannot be
/// read, and for a file without tensors.
[[nodiscard]] Survey survey_of_tensors(const StoredTensors& found, const InputFile& file);

/// Checks that a file is still what survey() said: fields, number of rows, and where they begin.
void compare_survey(const ShardInput& input, const std::function<Survey()>& survey,
                    const FindingSink& findings);

/// Reports the first byte of a file at `offset` that is not as expected; false if there is one.
bool compare_bytes(const InputFile& file, std::uint64_t offset, Bytes expected,
                   std::string_view what, const Field& field, const FindingSink& findings);

}  // namespace shale
