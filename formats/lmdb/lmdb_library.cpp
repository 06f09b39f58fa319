#include "formats/lmdb/lmdb_library.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <lmdb.h>
#include <sys/mman.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale::lmdb {
namespace {

// Header, pointer and key of an entry of shale's own: a file holds no more than go into it.
constexpr std::uint64_t kLeastEntryBytes = 18;
// Mapped pages that were walked count as this process's until they are given back.
constexpr std::uint64_t kMostMapped = 8 << 20;

void check(int result, std::string_view call) {
  if (result == MDB_SUCCESS) return;
  const Code code = result == ENOMEM ? Code::limit : is_hiccup(result) ? Code::io : Code::damaged;
  throw Error(code, "liblmdb's {} failed", call).because(mdb_strerror(result));
}

Bytes bytes_of_value(const MDB_val& value) {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

// What is open is not closed: the process ends (see LimitedChild).
class LibraryWalk {
 public:
  LibraryWalk(std::uint64_t file_bytes, const EntrySink& entries, const FindingSink& findings)
      : file_bytes_(file_bytes), entries_(entries), findings_(findings) {}

  void run(const std::string& path) {
    open(path);
    MDB_stat facts{};
    check(mdb_stat(txn_, tree_, &facts), "mdb_stat");
    page_bytes_ = facts.ms_psize;
    MDB_val key{}, value{};
    int result = mdb_cursor_get(cursor_, &key, &value, MDB_FIRST);
    std::uint64_t walked = 0;
    for (; result == MDB_SUCCESS; result = mdb_cursor_get(cursor_, &key, &value, MDB_NEXT)) {
      if (++walked > file_bytes_ / kLeastEntryBytes)
        throw Error(Code::damaged, "liblmdb walks more entries than fit in the file");
      take(key, value);
    }
    if (result != MDB_NOTFOUND) check(result, "mdb_cursor_get");
    if (facts.ms_entries == walked) return;
    Finding finding;
    finding.message = "liblmdb's count of entries differs from its walk";
    finding.found = fmt::format("mdb_stat {}", facts.ms_entries);
    finding.expected = fmt::format("{}", walked);
    findings_(std::move(finding));
  }

 private:
  // The map has the size that the file asks for, as every reader's.
  void open(const std::string& path) {
    MDB_env* env = nullptr;
    StorageRetry retry(path);
    // It reads the first pages of the file, and takes a read that returns less than was asked for
    // as damage.
    bool is_again = false;
    for (int result = -1; result != MDB_SUCCESS;) {
      check(mdb_env_create(&env), "mdb_env_create");
      result = mdb_env_open(env, path.c_str(), MDB_RDONLY | MDB_NOLOCK | MDB_NOSUBDIR, 0);
      if (result == MDB_SUCCESS) break;
      mdb_env_close(env);
      if (result == MDB_INVALID && !std::exchange(is_again, true)) continue;
      if (!retry.again(result)) check(result, "mdb_env_open");
    }
    check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn_), "mdb_txn_begin");
    check(mdb_dbi_open(txn_, nullptr, 0, &tree_), "mdb_dbi_open");
    check(mdb_cursor_open(txn_, tree_, &cursor_), "mdb_cursor_open");
  }

  void take(MDB_val key, const MDB_val& value) {
    if (!map_) map_ = map_of(value);
    look_up(key, value);
    TreeEntry entry;
    entry.key = bytes_of_value(key);
    entry.key_offset = offset_of(key.mv_data);
    entry.value_offset = offset_of(value.mv_data);
    entry.value_bytes = value.mv_size;
    // What lies behind that of a large value is read from the file.
    entry.page = bytes_of_value(value).first(std::min<std::uint64_t>(value.mv_size, kMostMapped));
    entry.page_offset = entry.value_offset;
    entries_(entry);
    give_back(entry.value_offset);
  }

  // A value begins in a page with a header, whose first 8 bytes are the page's number.
  [[nodiscard]] const std::byte* map_of(const MDB_val& value) const {
    const auto* at = static_cast<const std::byte*>(value.mv_data);
    const std::byte* page = at - reinterpret_cast<std::uintptr_t>(at) % page_bytes_;
    std::uint64_t number = 0;
    std::memcpy(&number, page, sizeof(number));
    return page - number * page_bytes_;
  }

  [[nodiscard]] std::uint64_t offset_of(const void* at) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - *map_);
  }

  void look_up(MDB_val key, const MDB_val& walked) {
    MDB_val found{};
    const int result = mdb_get(txn_, tree_, &key, &found);
    const bool is_same =
        result == MDB_SUCCESS && found.mv_data == walked.mv_data && found.mv_size == walked.mv_size;
    if (is_same) return;
    Finding finding;
    finding.message = fmt::format("liblmdb does not find the key '{}' that it walked through",
                                  printable(as_text(bytes_of_value(key))));
    finding.offset = offset_of(key.mv_data);
    finding.found = result == MDB_SUCCESS
                        ? fmt::format("a value at byte {}", offset_of(found.mv_data))
                        : std::string(mdb_strerror(result));
    finding.expected = fmt::format("the value at byte {}", offset_of(walked.mv_data));
    findings_(std::move(finding));
  }

  // Values ascend in the file, but for those in leaf pages, which lie behind larger ones.
  void give_back(std::uint64_t offset) {
    if (offset < given_back_ + kMostMapped || offset > file_bytes_) return;
    const std::uint64_t end = aligned_down(offset);
    std::byte* begin = const_cast<std::byte*>(*map_) + given_back_;
    (void)::madvise(begin, end - given_back_, MADV_DONTNEED);
    given_back_ = end;
  }

  std::uint64_t file_bytes_;
  const EntrySink& entries_;
  const FindingSink& findings_;
  MDB_txn* txn_ = nullptr;
  MDB_dbi tree_ = 0;
  MDB_cursor* cursor_ = nullptr;
  std::uint64_t page_bytes_ = 0, given_back_ = 0;
  std::optional<const std::byte*> map_;  // where byte 0 of the file is
};

}  // namespace

std::string library_name() {
  int major = 0, minor = 0, patch = 0;
  (void)mdb_version(&major, &minor, &patch);
  return fmt::format("liblmdb {}.{}.{}", major, minor, patch);
}

void walk_by_liblmdb(const std::string& path, std::uint64_t file_bytes, const EntrySink& entries,
                     const FindingSink& findings) {
  LibraryWalk(file_bytes, entries, findings).run(path);
}

}  // namespace shale::lmdb
