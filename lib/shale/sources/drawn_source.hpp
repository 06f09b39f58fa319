#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shale/format/source.hpp"
#include "shale/sampling/make_draw.hpp"
#include "shale/sampling/open_drawn_rows.hpp"
#include "shale/sources/row_table.hpp"

namespace shale {

/// How make_drawn_source would put each field in order. `memory_bytes` as in its limits.
[[nodiscard]] std::vector<DrawPlan> plan_drawn_source(const RowTable& table, const Draw& draw,
                                                      std::uint64_t memory_bytes);

/// The rows of a table that a draw takes, in its order, as samples in runs. The draw's files are
/// read here; rows are read, and put in order, when the first ones are asked for. `limits` are
/// shared by all fields. `events` must outlive the source. Errors: same as make_draw.
[[nodiscard]] std::unique_ptr<Source> make_drawn_source(RowTable table, const DrawRequest& draw,
                                                        const DrawLimits& limits,
                                                        const Events& events);

}  // namespace shale
