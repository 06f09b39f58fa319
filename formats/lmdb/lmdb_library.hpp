#pragma once

#include <string>

#include "shale/base/finding.hpp"

#include "formats/lmdb/lmdb_tree.hpp"

namespace shale::lmdb {

/// "liblmdb 0.9.24": the version at run time.
[[nodiscard]] std::string library_name();

/// Walks the entries of a file with liblmdb's cursor, in its order, and hands them out as
/// walk_trees does, but that TreeEntry::page is the value where liblmdb has mapped it. Each key is
/// looked up with mdb_get besides, and their number compared with mdb_stat's. Maps the file: in a
/// child process only, for it is killed where the file ends early (SIGBUS) or lies about a place.
/// Memory: the pages that were walked are given back by and by.
/// Errors: Code::damaged for what liblmdb refuses; Code::limit if there are not enough addresses to
/// map it.
void walk_by_liblmdb(const std::string& path, std::uint64_t file_bytes, const EntrySink& entries,
                     const FindingSink& findings);

}  // namespace shale::lmdb
