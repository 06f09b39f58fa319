#pragma once

#include <memory>

#include "shale/format/key_map.hpp"
#include "shale/io/input_file.hpp"

#include "formats/lmdb/lmdb_meta.hpp"

namespace shale {

/// The main database of an LMDB file that anyone wrote, looked up by single pages: no liblmdb, no
/// mapping, no lock. A look-up reads a leaf page, and the branch pages above it that are not among
/// the pages met last, of which 4 MiB are kept. Each page is checked before it is believed, and no
/// chain of pages is longer than LMDB's deepest tree; keys that do not ascend end an iteration with
/// an error. Entries that are named databases are entries like all others, but say so.
/// Errors: Code::unsupported, by name, for sorted duplicates and for layouts of other LMDB
/// versions; Code::damaged, also if the two meta pages contradict each other; Code::io.
[[nodiscard]] std::shared_ptr<const KeyMap> open_lmdb_map(std::shared_ptr<const InputFile> file);
/// Of a file that outlives the map.
[[nodiscard]] std::shared_ptr<const KeyMap> open_lmdb_map(const InputFile& file);
/// The same of another tree of it.
[[nodiscard]] std::shared_ptr<const KeyMap> open_lmdb_map(const InputFile& file,
                                                          const lmdb::TreeRecord& tree);
/// Where in the file the key of an entry of such a map is.
[[nodiscard]] std::uint64_t key_offset_of(const KeyMapEntry& entry);

}  // namespace shale
