#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/format/key_map.hpp"
#include "shale/io/input_file.hpp"
#include "shale/layouts/first_values.hpp"
#include "shale/layouts/keyed_file.hpp"

#include "formats/lmdb/lmdb_meta.hpp"

// Named databases: entries of the main one whose values are the records of further trees.

namespace shale::lmdb {

struct NamedDatabase {
  std::string name;
  TreeRecord tree;
};
/// Those of a file, in the order of their names, at most 1000. Errors: same as open_lmdb_map.
[[nodiscard]] std::vector<NamedDatabase> databases_in(const InputFile& file);

/// As read_live_meta; `main_tree` is that of the named database, if the name is not empty. Errors:
/// Code::usage for a name that the file does not have, with those that it has.
[[nodiscard]] MetaPage meta_of_database(const InputFile& file, std::string_view database,
                                        const FindingSink& findings);
/// As open_lmdb_map, of the named database. The file outlives the map.
[[nodiscard]] std::shared_ptr<const KeyMap> open_database(const InputFile& file,
                                                          std::string_view database);

[[nodiscard]] layouts::MapOpener opener_of(const InputFile& file, std::string_view database);

/// The name of the one database that a file has beside nothing else; empty for any other file.
[[nodiscard]] std::string only_database(const InputFile& file);

/// What is said where it is taken.
[[nodiscard]] std::string note_of_only_database(std::string_view name);

/// Whether its keys may have several values each, which only a walk finds.
[[nodiscard]] bool has_sorted_duplicates(const InputFile& file, std::string_view database);

/// The error for a file with named databases, where none was chosen.
[[nodiscard]] Error holds_databases(const InputFile& file);

/// The file as shale/layouts read it. It outlives the result.
[[nodiscard]] layouts::KeyedFile keyed_file(const InputFile& file);

}  // namespace shale::lmdb
