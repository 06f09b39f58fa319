#include "formats/lmdb/lmdb_databases.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/format/finding_draft.hpp"

#include "formats/lmdb/lmdb_cursor.hpp"

namespace shale::lmdb {
namespace {

constexpr std::size_t kMostDatabases = 1000, kMostShown = 16;

TreeRecord tree_in(const InputFile& file, const KeyMapEntry& entry) {
  std::array<std::byte, kTreeRecordBytes> record{};
  if (entry.value_bytes != record.size()) {
    throw Error(Code::damaged, "the record of database '{}' has {} bytes, expected {}",
                printable(as_text(entry.key)), entry.value_bytes, record.size())
        .at(file.path(), entry.value_offset);
  }
  file.read_exact(entry.value_offset, record);
  return read_tree_record(record);
}

// That of the state that counts, whatever the other one is.
std::shared_ptr<const KeyMap> open_main_map(const InputFile& file) {
  return open_lmdb_map(file, read_live_meta(file, [](const Finding&) {}).main_tree);
}

std::string names_text(const std::vector<NamedDatabase>& databases) {
  std::string text;
  for (std::size_t i = 0; i < std::min(databases.size(), kMostShown); ++i) {
    const NamedDatabase& one = databases[i];
    const std::uint64_t entries = one.tree.entries;
    text += fmt::format("{}'{}' ({} {}{})", i == 0 ? "" : ", ", printable(one.name), entries,
                        entries == 1 ? "entry" : "entries",
                        (one.tree.flags & kDupSort) != 0 ? ", sorted duplicates" : "");
  }
  if (databases.size() > kMostShown) text += ", ...";
  return text;
}

}  // namespace

std::vector<NamedDatabase> databases_in(const InputFile& file) {
  std::vector<NamedDatabase> found;
  const auto map = open_main_map(file);
  const auto cursor = map->cursor();
  for (bool is_there = cursor->first(); is_there && found.size() < kMostDatabases;
       is_there = cursor->next()) {
    const std::optional<KeyMapEntry> entry = cursor->current();
    if (!entry || !entry->is_database) continue;
    found.push_back({std::string(as_text(entry->key)), tree_in(file, *entry)});
  }
  return found;
}

MetaPage meta_of_database(const InputFile& file, std::string_view database,
                          const FindingSink& findings) {
  MetaPage meta = read_live_meta(file, findings);
  if (database.empty()) return meta;
  const auto entry = open_main_map(file)->find(as_bytes(database));
  if (entry && entry->is_database) {
    meta.main_tree = tree_in(file, *entry);
    return meta;
  }
  const std::vector<NamedDatabase> others = databases_in(file);
  throw Error(Code::usage, "has no database '{}'", printable(database))
      .at(file.path())
      .hint(others.empty() ? "it has no named databases: leave out --database"
                           : fmt::format("it has {}", names_text(others)));
}

std::shared_ptr<const KeyMap> open_database(const InputFile& file, std::string_view database) {
  if (database.empty()) return open_lmdb_map(file);
  return open_lmdb_map(file, meta_of_database(file, database, [](const Finding&) {}).main_tree);
}

layouts::MapOpener opener_of(const InputFile& file, std::string_view database) {
  return [&file, database] { return open_database(file, database); };
}

std::string only_database(const InputFile& file) {
  try {
    const auto map = open_main_map(file);
    const auto cursor = map->cursor();
    if (map->facts().entries != 1 || !cursor->first()) return {};
    const std::optional<KeyMapEntry> entry = cursor->current();
    return entry && entry->is_database ? std::string(as_text(entry->key)) : std::string();
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return {};  // the walk says more
  }
}

std::string note_of_only_database(std::string_view name) {
  return fmt::format("read from '{}', the one database in the file", printable(name));
}

bool has_sorted_duplicates(const InputFile& file, std::string_view database) {
  const MetaPage meta = meta_of_database(file, database, [](const Finding&) {});
  return (meta.main_tree.flags & kDupSort) != 0;
}

Error holds_databases(const InputFile& file) {
  const std::vector<NamedDatabase> databases = databases_in(file);
  std::string all;
  for (const NamedDatabase& one : databases) {
    const bool is_taken = (one.tree.flags & kDupSort) == 0 && one.name.find(',') == one.name.npos;
    if (is_taken && all.size() < 4096) all += (all.empty() ? "" : ",") + one.name;
  }
  // Those with several values for a key are not joined by key.
  if (all.empty() && !databases.empty() && databases.front().name.find(',') == std::string::npos)
    all = databases.front().name;
  Error error(Code::unsupported, "holds named databases: {}", names_text(databases));
  error.at(file.path());
  if (all.empty()) return error;
  const bool are_several = all.find(',') != std::string::npos;
  error.hint(fmt::format("run 'shale info {} --database {}'{}", shell_word(file.path()),
                         shell_word(all),
                         are_several ? "; they are joined by key, a field each; name only those "
                                       "that are wanted"
                                     : ""));
  return error;
}

layouts::KeyedFile keyed_file(const InputFile& file) {
  return {.file = file,
          .open = [&file](std::string_view database) { return open_database(file, database); },
          .key_offset_of = key_offset_of,
          .longest_key = kMaxKeyBytes};
}

}  // namespace shale::lmdb
