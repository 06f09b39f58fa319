#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lmdb.h>

#include "formats/lmdb/lmdb_shape.hpp"
#include "formats/lmdb/lmdb_writer.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale::test {

using LmdbEntries = std::map<std::string, std::string>;

inline void must(int code, std::string_view what) {
  if (code != MDB_SUCCESS) throw Error(Code::bug, "{}: {}", what, mdb_strerror(code));
}

inline MDB_val lmdb_value(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}
inline std::string_view lmdb_text(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

/// liblmdb on one file: the judge of our own writer. No lock file. A process opens a file once at a
/// time.
class LmdbJudge {
 public:
  enum class Mode { read, write };

  explicit LmdbJudge(const std::string& path, Mode mode = Mode::read) {
    must(mdb_env_create(&env_), "mdb_env_create");
    const unsigned only_read = mode == Mode::read ? MDB_RDONLY : 0;
    if (mode == Mode::write) must(mdb_env_set_mapsize(env_, 1 << 30), "mdb_env_set_mapsize");
    const int code =
        mdb_env_open(env_, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | only_read, 0644);
    if (code != MDB_SUCCESS) mdb_env_close(env_);
    must(code, "mdb_env_open");
  }
  ~LmdbJudge() { mdb_env_close(env_); }
  LmdbJudge(const LmdbJudge&) = delete;
  LmdbJudge& operator=(const LmdbJudge&) = delete;

  /// Calls `use(key, value)` on every entry, in order.
  template <class Use>
  void walk(Use use) const {
    in_transaction(MDB_RDONLY, [&](MDB_txn* txn, MDB_dbi dbi) {
      MDB_cursor* cursor = nullptr;
      must(mdb_cursor_open(txn, dbi, &cursor), "mdb_cursor_open");
      MDB_val key{}, value{};
      int code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
      for (; code == MDB_SUCCESS; code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        use(lmdb_text(key), lmdb_text(value));
      }
      mdb_cursor_close(cursor);
      if (code != MDB_NOTFOUND) must(code, "mdb_cursor_get");
    });
  }

  [[nodiscard]] lmdb::TreeStatistics statistics() const {
    MDB_stat stat{};
    must(mdb_env_stat(env_, &stat), "mdb_env_stat");
    return {.entries = stat.ms_entries,
            .depth = stat.ms_depth,
            .branch_pages = stat.ms_branch_pages,
            .leaf_pages = stat.ms_leaf_pages,
            .overflow_pages = stat.ms_overflow_pages};
  }
  [[nodiscard]] MDB_envinfo info() const {
    MDB_envinfo info{};
    must(mdb_env_info(env_, &info), "mdb_env_info");
    return info;
  }

  /// What mdb_get finds under a key.
  [[nodiscard]] std::optional<std::string> get(std::string_view name) const {
    std::optional<std::string> found;
    in_transaction(MDB_RDONLY, [&](MDB_txn* txn, MDB_dbi dbi) {
      MDB_val key = lmdb_value(name), value{};
      const int code = mdb_get(txn, dbi, &key, &value);
      if (code != MDB_NOTFOUND) must(code, "mdb_get");
      if (code == MDB_SUCCESS) found = lmdb_text(value);
    });
    return found;
  }

  /// mdb_copy -c: refuses a file in which a page is lost, or counted twice.
  void copy_compact(const std::string& to) const {
    must(mdb_env_copy2(env_, to.c_str(), MDB_CP_COMPACT), "mdb_env_copy2");
  }

  void put(const LmdbEntries& entries, unsigned flags = 0) {
    in_transaction(0, [&](MDB_txn* txn, MDB_dbi dbi) {
      for (const auto& [name, text] : entries) {
        MDB_val key = lmdb_value(name), value = lmdb_value(text);
        must(mdb_put(txn, dbi, &key, &value, flags), "mdb_put");
      }
    });
  }
  void erase(const std::vector<std::string>& keys) {
    in_transaction(0, [&](MDB_txn* txn, MDB_dbi dbi) {
      for (const std::string& name : keys) {
        MDB_val key = lmdb_value(name);
        must(mdb_del(txn, dbi, &key, nullptr), "mdb_del");
      }
    });
  }

 private:
  template <class Act>
  void in_transaction(unsigned flags, Act act) const {
    MDB_txn* txn = nullptr;
    must(mdb_txn_begin(env_, nullptr, flags, &txn), "mdb_txn_begin");
    MDB_dbi dbi = 0;
    try {
      must(mdb_dbi_open(txn, nullptr, 0, &dbi), "mdb_dbi_open");
      act(txn, dbi);
    } catch (...) {
      mdb_txn_abort(txn);
      throw;
    }
    must(mdb_txn_commit(txn), "mdb_txn_commit");
  }

  MDB_env* env_ = nullptr;
};

/// The file that liblmdb makes of the entries: what ours is compared with.
inline void write_by_liblmdb(const std::string& path, const LmdbEntries& entries) {
  LmdbJudge(path, LmdbJudge::Mode::write).put(entries, MDB_APPEND);
}

/// What our own writer says of the file it made.
struct WrittenPages {
  std::vector<std::uint64_t> offsets;  ///< of the values
  lmdb::TreeStatistics foretold;
  FileSummary file;
};

inline WrittenPages write_pages(const std::string& path, const LmdbEntries& entries) {
  OutputFile file(path, {.io = IoMode::buffered, .buffer_bytes = 1 << 20});
  lmdb::LmdbPageWriter writer(file);
  WrittenPages written;
  const auto take = [&](std::span<const std::uint64_t> offsets) {
    written.offsets.insert(written.offsets.end(), offsets.begin(), offsets.end());
  };
  for (const auto& [key, text] : entries) {
    Blob value;
    value.append_view(as_bytes(text));
    take(writer.add(as_bytes(key), value));
  }
  written.foretold = writer.statistics();
  take(writer.close());
  written.file = file.finish();
  return written;
}

/// How the entries that liblmdb walks through differ from those expected, as a sentence; empty if
/// they do not.
inline std::string difference(const LmdbJudge& judge, const LmdbEntries& expected) {
  std::string found;
  auto next = expected.begin();
  judge.walk([&](std::string_view key, std::string_view value) {
    if (!found.empty()) return;
    if (next == expected.end()) {
      found = fmt::format("more than {} entries", expected.size());
    } else if (next->first != key || next->second != value) {
      found = fmt::format("entry '{}' of {} bytes, expected '{}' of {}", key, value.size(),
                          next->first, next->second.size());
    } else {
      ++next;
    }
  });
  if (found.empty() && next != expected.end()) found = fmt::format("'{}' is lost", next->first);
  return found;
}

}  // namespace shale::test
