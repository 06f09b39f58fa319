#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lmdb.h>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"

#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_scan.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "tests/support/temp_dir.hpp"

// Files made by liblmdb itself, and what our own walk finds in them.

namespace shale::test {

inline void check_lmdb(int result) {
  if (result != MDB_SUCCESS) throw Error(Code::bug, "liblmdb: {}", ::mdb_strerror(result));
}

/// A file of liblmdb, open for writing; each call of `change` is one transaction.
class LmdbFile {
 public:
  explicit LmdbFile(const std::string& path, unsigned env_flags = 0, unsigned tree_flags = 0,
                    std::uint64_t map_bytes = std::uint64_t{1} << 32)
      : tree_flags_(tree_flags) {
    check_lmdb(::mdb_env_create(&env_));
    check_lmdb(::mdb_env_set_mapsize(env_, map_bytes));
    check_lmdb(::mdb_env_set_maxdbs(env_, 8));
    check_lmdb(::mdb_env_open(env_, path.c_str(),
                              MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | env_flags, 0644));
  }
  ~LmdbFile() { ::mdb_env_close(env_); }
  LmdbFile(const LmdbFile&) = delete;
  LmdbFile& operator=(const LmdbFile&) = delete;

  template <class Act>
  void change(Act act, const char* database = nullptr) {
    MDB_txn* txn = nullptr;
    check_lmdb(::mdb_txn_begin(env_, nullptr, 0, &txn));
    MDB_dbi dbi = 0;
    const unsigned create = database == nullptr ? 0U : MDB_CREATE;
    check_lmdb(::mdb_dbi_open(txn, database, tree_flags_ | create, &dbi));
    act(txn, dbi);
    check_lmdb(::mdb_txn_commit(txn));
  }

  static void put(MDB_txn* txn, MDB_dbi dbi, std::string_view key, std::string_view value) {
    MDB_val k = val_of(key), v = val_of(value);
    check_lmdb(::mdb_put(txn, dbi, &k, &v, 0));
  }
  static void remove(MDB_txn* txn, MDB_dbi dbi, std::string_view key) {
    MDB_val k = val_of(key);
    check_lmdb(::mdb_del(txn, dbi, &k, nullptr));
  }

  void put_all(const std::vector<std::pair<std::string, std::string>>& entries,
               const char* database = nullptr) {
    change(
        [&](MDB_txn* txn, MDB_dbi dbi) {
          for (const auto& [key, value] : entries) put(txn, dbi, key, value);
        },
        database);
  }

  [[nodiscard]] MDB_stat stat() const {
    MDB_stat facts;
    check_lmdb(::mdb_env_stat(env_, &facts));
    return facts;
  }

  /// All entries, in the order of the tree.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> entries() const {
    MDB_txn* txn = nullptr;
    MDB_cursor* cursor = nullptr;
    MDB_dbi dbi = 0;
    check_lmdb(::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn));
    check_lmdb(::mdb_dbi_open(txn, nullptr, 0, &dbi));
    check_lmdb(::mdb_cursor_open(txn, dbi, &cursor));
    std::vector<std::pair<std::string, std::string>> found;
    MDB_val key, value;
    while (::mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
      found.emplace_back(text_of(key), text_of(value));
    }
    ::mdb_cursor_close(cursor);
    ::mdb_txn_abort(txn);
    return found;
  }

 private:
  static MDB_val val_of(std::string_view text) {
    return {text.size(), const_cast<char*>(text.data())};
  }
  static std::string text_of(const MDB_val& val) {
    return {static_cast<const char*>(val.mv_data), val.mv_size};
  }

  MDB_env* env_ = nullptr;
  unsigned tree_flags_;
};

/// The bytes that liblmdb points to.
inline std::string_view lmdb_bytes(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

struct LmdbScanned {
  std::vector<IndexRow> rows;
  std::vector<Finding> findings;

  /// For CHECKs that should say what is wrong.
  [[nodiscard]] std::string first_finding() const {
    return findings.empty() ? "" : describe(findings.front());
  }
};

inline LmdbScanned scan_lmdb(const std::string& path, const Schema& schema,
                             const ShardLayout& layout, bool reads_payload) {
  LmdbScanned scanned;
  std::vector<InputFile> files;
  files.emplace_back(path);
  scan_lmdb_shard(
      {files, schema, layout, reads_payload}, OptionSet(),
      [&](const IndexRow& row) { scanned.rows.push_back(row); },
      [&](Finding finding) { scanned.findings.push_back(std::move(finding)); });
  return scanned;
}

inline LmdbScanned scan_plain(const std::string& path, bool reads_payload = false) {
  const Schema schema{.fields = {{"value", Kind::bytes, {}, {}}}};
  ShardLayout layout;
  layout.dialect = Dialect::plain;
  return scan_lmdb(path, schema, layout, reads_payload);
}

/// The scan of a file as its own survey describes it.
inline LmdbScanned scan_surveyed(const std::string& path, Dialect dialect, bool reads_payload) {
  const Survey survey = survey_lmdb_file(InputFile(path), dialect);
  return scan_lmdb(path, survey.schema, survey.layout, reads_payload);
}

/// Changes one byte of a file, in place.
inline void set_byte(const std::string& path, std::size_t offset, int value) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset)).put(static_cast<char>(value));
}

/// The totals of a walk over the file's live trees.
inline lmdb::TreeStatistics walk_lmdb(const std::string& path) {
  const InputFile file(path);
  const FindingSink ignore = [](const Finding&) {};
  return lmdb::walk_trees(
      file, lmdb::read_live_meta(file, ignore), {}, [](const lmdb::TreeEntry&) {}, ignore);
}

/// The bytes of a file that a place names; "missing" where there is none.
inline std::string bytes_at(const std::string& path, const FieldPlace& place) {
  if (place.offset == kMissing) return "missing";
  const InputFile file(path);
  std::string bytes(place.length, '\0');
  file.read_exact(place.offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

/// Keys and values of a plain file by the rows of its scan.
inline std::vector<std::pair<std::string, std::string>> entries_by_rows(
    const std::string& path, const std::vector<IndexRow>& rows) {
  const std::string bytes = read_text(path);
  const auto at = [&](const FieldPlace& place) { return bytes.substr(place.offset, place.length); };
  std::vector<std::pair<std::string, std::string>> entries;
  for (const IndexRow& row : rows) entries.emplace_back(at(row.key), at(row.cells[0].place));
  return entries;
}

}  // namespace shale::test
