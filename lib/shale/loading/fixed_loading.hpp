#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shale/loading/load_request.hpp"
#include "shale/loading/loader_state.hpp"

// What a loader does where rows are fixed: places are computed, integers and reals are read.

namespace shale {

/// Fills in the places of samples of one shard, which ascend by row, and reads their numbers, those
/// of the fields in `wanted` (empty: all). Errors: Code::damaged with file, offset and sample;
/// Code::io.
void locate_fixed_rows(std::span<LocatedSample* const> samples, const std::vector<bool>& wanted,
                       const OpenShard& shard, const Schema& schema, LoaderState& state);

/// Errors: Code::not_found, naming the columns there are: the integers and reals.
[[nodiscard]] ColumnPlace fixed_column_named(std::string_view name, const Schema& schema);

/// The values of an integer or real from `row` of a shard on, as they are stored. Errors:
/// Code::damaged with file and offset; Code::io.
void read_fixed_column(const OpenShard& shard, std::size_t field, std::uint64_t row,
                       std::span<std::byte> into, LoaderState& state);

}  // namespace shale
