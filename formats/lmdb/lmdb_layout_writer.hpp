#pragma once

#include <memory>
#include <string_view>

#include "shale/format/layout.hpp"

// Files in the layouts that other programs read (shale/layouts/value_layout.hpp): what
// Format::encode and Format::create_shard do where the option "layout" names one.

namespace shale {

/// The value of the option for what shale itself reads best.
inline constexpr std::string_view kOwnLayout = "shale";

/// The layouts that are written: rows of lmdb_format.
extern const Layout* const kLmdbLayouts[6];

/// Errors: Code::usage for a layout that is not written; Code::unsupported for a schema other than
/// bytes (of coclr: a list) and an integer; of basicsr: than bytes alone.
void check_fits_layout(std::string_view layout, const Schema& schema);
/// Errors: Code::limit and Code::schema by sample.
[[nodiscard]] Record encode_layout_value(std::string_view layout, const Sample& sample,
                                         const Schema& schema);
/// The file has no index: the places that append() returns are all 0. Memory: of coclr the names of
/// the videos, at most 32 MiB; else a few windows. What is needed later is spooled to a nameless
/// file beside the new one.
[[nodiscard]] std::unique_ptr<ShardWriter> create_layout_file(std::string_view layout,
                                                              OutputFile& file);

}  // namespace shale
