#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// Walks the pages of a shard without liblmdb and without a mapping, bounds-checked; one row an
/// entry, in key order, also for an entry that is damaged inside (what cannot be read is missing in
/// its row). Dialect own: each value is a map of the key and the schema's fields, as shale writes
/// it; entries of a lost page keep their rows, empty, so that those behind it keep their numbers.
/// Dialect plain: key and value as they are. Dialect msgpack: each value is a map that has the
/// schema's fields. A layout: its samples, in the order of its readers. Without payload only leaf
/// pages and, for maps, both ends of a value are read. Memory: a bit per page, and a window of 256
/// KiB. Findings: what walk_trees finds, and maps that are not as the schema has them. Errors:
/// Code::io.
void scan_lmdb_shard(const ShardInput& input, const OptionSet& options, const RowSink& rows,
                     const FindingSink& findings);

/// The same of a shard of shale's own for several threads: see Format::split_scan.
[[nodiscard]] SplitScan split_lmdb_scan(const ShardInput& input);

/// The same of a shard of shale's own, payload included, but liblmdb opens the file and walks
/// through it: see Format::scan_by_library.
[[nodiscard]] LibraryReading scan_lmdb_by_library(const ShardInput& input, const RowSink& rows,
                                                  const FindingSink& findings,
                                                  const std::function<void()>& ask);

/// What an LMDB file of another tool holds. Dialect plain: keys and one field, "value". Dialect
/// msgpack: the fields that the maps have (CommonFields); a str is text where it is UTF-8 of at
/// most 4096 bytes in all of them, else bytes; an entry "key" of the map is the sample's key. A
/// layout (lmdb_layout.hpp): what it says, if each sample is as it says. Nullopt: the layout that
/// the file has, else plain, with a note where one nearly fits.
/// Errors: Code::unsupported, by name, for named databases, layouts of other
/// LMDB versions, the first value whose fields are of another kind than those before it, and the
/// field that no kind can hold, for what differs from a layout, and for a file that two layouts
/// fit; Code::schema for a field's name; Code::damaged; Code::usage for Dialect::own.
[[nodiscard]] Survey survey_lmdb_file(const InputFile& file, const Parsing& parsing,
                                      const WalkProgress& progress = {});

}  // namespace shale
