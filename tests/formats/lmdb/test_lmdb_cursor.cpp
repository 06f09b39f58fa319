#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "formats/lmdb/lmdb_cursor.hpp"
#include "tests/formats/lmdb/lmdb_page_builder.hpp"
#include "tests/formats/lmdb/lmdb_scan_tools.hpp"
#include "tests/support/sampled_walk.hpp"

namespace shale {
namespace {

using test::check_lmdb;
using test::error_of;
using test::LmdbFile;
using test::TempDir;
using Entries = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<const KeyMap> open_map(const std::string& path) {
  return open_lmdb_map(std::make_shared<const InputFile>(path));
}

std::string value_of(const InputFile& file, const KeyMapEntry& entry) {
  if (entry.value) return std::string(as_text(*entry.value));
  std::string value(entry.value_bytes, '\0');
  file.read_exact(entry.value_offset, std::as_writable_bytes(std::span(value)));
  return value;
}

std::string random_key(std::mt19937& random, std::size_t most) {
  std::string key(1 + random() % most, '\0');
  for (char& letter : key) letter = static_cast<char>('a' + random() % 4);
  return key;
}

// liblmdb's cursor and ours side by side: after each move both say the same.
class SideBySide {
 public:
  SideBySide(MDB_txn* txn, MDB_dbi dbi, const std::string& path)
      : file_(path), map_(open_map(path)), ours_(map_->cursor()) {
    check_lmdb(::mdb_cursor_open(txn, dbi, &theirs_));
  }
  ~SideBySide() { ::mdb_cursor_close(theirs_); }
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;

  /// The move of this number; how the two differ after it, or nothing.
  std::string step(unsigned move, const std::string& name) {
    constexpr MDB_cursor_op kMoves[] = {MDB_NEXT,    MDB_PREV,      MDB_FIRST, MDB_LAST,
                                        MDB_SET_KEY, MDB_SET_RANGE, MDB_NEXT,  MDB_PREV};
    MDB_val key{name.size(), const_cast<char*>(name.data())}, value{};
    const int code = ::mdb_cursor_get(theirs_, &key, &value, kMoves[move]);
    const bool has_entry = move_ours(kMoves[move], as_bytes(name));
    if (has_entry != (code == MDB_SUCCESS)) return fmt::format("{} of ours", has_entry);
    const auto entry = ours_->current();
    if (!entry) return has_entry ? "no entry" : "";
    if (as_text(entry->key) != test::lmdb_bytes(key)) return "another key";
    return value_of(file_, *entry) == test::lmdb_bytes(value) ? "" : "another value";
  }

 private:
  bool move_ours(MDB_cursor_op move, Bytes key) {
    if (move == MDB_NEXT) return ours_->next();
    if (move == MDB_PREV) return ours_->prev();
    if (move == MDB_FIRST) return ours_->first();
    if (move == MDB_LAST) return ours_->last();
    return move == MDB_SET_KEY ? ours_->seek(key) : ours_->seek_range(key);
  }

  InputFile file_;
  std::shared_ptr<const KeyMap> map_;
  std::unique_ptr<KeyCursor> ours_;
  MDB_cursor* theirs_ = nullptr;
};

TEST_CASE("lmdb cursor: moves at random find what liblmdb finds, on trees of many shapes") {
  constexpr unsigned kSeed = 11;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  const unsigned flags[] = {0, 0, MDB_REVERSEKEY, MDB_INTEGERKEY};
  for (unsigned round = 0; round < 40; ++round) {
    const TempDir dir;
    const unsigned tree_flags = flags[round % 4];
    const auto any_key = [&] {
      if (tree_flags != MDB_INTEGERKEY) return random_key(random, round < 20 ? 12 : 500);
      const std::uint32_t number = static_cast<std::uint32_t>(random() % 5000);
      return std::string(as_text(bytes_of(number)));
    };
    LmdbFile file(dir / "a.lmdb", 0, tree_flags);
    const std::size_t count = round % 5 == 0 ? random() % 3 : random() % 3000;
    file.change([&](MDB_txn* txn, MDB_dbi dbi) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t bytes = random() % 20 == 0 ? random() % 20'000 : random() % 300;
        LmdbFile::put(txn, dbi, any_key(), std::string(bytes, static_cast<char>(random())));
      }
    });
    file.change([&](MDB_txn* txn, MDB_dbi dbi) {
      for (std::size_t i = 0; i < count / 2; ++i) {
        std::string key = any_key();
        MDB_val name{key.size(), key.data()};
        (void)::mdb_del(txn, dbi, &name, nullptr);
      }
    });
    file.change([&](MDB_txn* txn, MDB_dbi dbi) {
      SideBySide both(txn, dbi, dir / "a.lmdb");
      for (int step = 0; step < 400; ++step) {
        const std::string difference = both.step(random() % 8, any_key());
        CAPTURE(round);
        CAPTURE(step);
        REQUIRE(difference == "");
      }
    });
  }
}

TEST_CASE("lmdb map: its facts are mdb_stat's, and find() gives each value") {
  const TempDir dir;
  LmdbFile file(dir / "a.lmdb");
  Entries entries;
  for (std::size_t i = 0; i < 2000; ++i) {
    entries.emplace_back(fmt::format("{:05}", i * 3), std::string(i % 40 * 150, 'v'));
  }
  file.put_all(entries);
  const auto map = open_map(dir / "a.lmdb");
  const MDB_stat stat = file.stat();
  CHECK(map->facts().entries == stat.ms_entries);
  CHECK(map->facts().depth == stat.ms_depth);
  CHECK(map->facts().branch_pages == stat.ms_branch_pages);
  CHECK(map->facts().leaf_pages == stat.ms_leaf_pages);
  CHECK(map->facts().overflow_pages == stat.ms_overflow_pages);
  CHECK(map->facts().page_bytes == stat.ms_psize);
  const InputFile bytes(dir / "a.lmdb");
  for (const auto& [key, value] : entries) {
    const auto entry = map->find(as_bytes(key));
    REQUIRE(entry);
    REQUIRE(value_of(bytes, *entry) == value);
  }
  CHECK(!map->find(as_bytes("00001")));
  CHECK(!map->find({}));
}

TEST_CASE("lmdb map: pages of 512 bytes to 64 KiB are looked up") {
  for (std::uint64_t page_bytes = 512; page_bytes <= 65'536; page_bytes *= 2) {
    CAPTURE(page_bytes);
    const TempDir dir;
    Entries entries;
    for (int i = 0; i < 3000; ++i) entries.emplace_back(fmt::format("{:05}", i), "value");
    entries[70].second.assign(3 * page_bytes, 'x');
    test::write_file(dir / "a.lmdb", test::LmdbBuilder(page_bytes).build(entries));
    const InputFile file(dir / "a.lmdb");
    const auto map = open_map(dir / "a.lmdb");
    for (const auto& [key, value] : entries) {
      const auto entry = map->find(as_bytes(key));
      REQUIRE(entry);
      REQUIRE(value_of(file, *entry) == value);
    }
    std::size_t count = 0;
    const auto cursor = map->cursor();
    while (cursor->next()) ++count;
    CHECK(count == entries.size());
  }
}

TEST_CASE(
    "lmdb map: it stays as it was while two transactions write, and renewed() is as it is now") {
  const TempDir dir;
  LmdbFile file(dir / "a.lmdb");
  Entries entries;
  for (int i = 0; i < 3000; ++i) entries.emplace_back(fmt::format("{:05}", i), "old");
  file.put_all(entries);
  const auto map = open_map(dir / "a.lmdb");
  CHECK(map->renewed() == map);
  for (auto& entry : entries) entry.second = "new";
  file.put_all(entries);
  entries.emplace_back("99999", std::string(100'000, 'n'));
  file.put_all(entries);
  const auto cursor = map->cursor();
  std::size_t old = 0;
  while (cursor->next()) old += as_text(cursor->current()->value.value()) == "old" ? 1 : 0;
  CHECK(old == 3000);
  const auto now = map->renewed();
  CHECK(now->facts().entries == 3001);
  CHECK(as_text(now->find(as_bytes("00007"))->value.value()) == "new");
  CHECK(now->find(as_bytes("99999"))->value_bytes == 100'000);
}

TEST_CASE(
    "lmdb map: a named database is an entry that says so, and sorted duplicates are refused") {
  const TempDir dir;
  LmdbFile file(dir / "a.lmdb");
  file.put_all({{"plain", "1"}});
  file.put_all({{"inside", "2"}}, "named");
  const auto map = open_map(dir / "a.lmdb");
  CHECK(map->find(as_bytes("named"))->is_database);
  CHECK(!map->find(as_bytes("plain"))->is_database);
  LmdbFile(dir / "b.lmdb", 0, MDB_DUPSORT).put_all({{"a", "1"}, {"a", "2"}});
  const Error error = error_of([&] { (void)open_map(dir / "b.lmdb"); });
  CHECK(error.code() == Code::unsupported);
  CHECK(error.message().find("MDB_DUPSORT") != std::string::npos);
}

TEST_CASE("lmdb map: four threads look up at once") {
  const TempDir dir;
  LmdbFile file(dir / "a.lmdb");
  Entries entries;
  for (int i = 0; i < 20'000; ++i) {
    entries.emplace_back(fmt::format("{:06}", i), fmt::format("value {}", i));
  }
  file.put_all(entries);
  const auto map = open_map(dir / "a.lmdb");
  std::vector<std::size_t> found(4);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < found.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread; i < entries.size(); i += 3) {
        const auto entry = map->find(as_bytes(entries[i].first));
        if (entry && as_text(entry->value.value_or(Bytes())) == entries[i].second) ++found[thread];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(found == std::vector<std::size_t>{6667, 6667, 6666, 6666});
}

// ---- files that were damaged, or made to do damage

// Everything that can be asked of a file; the number of entries met, or nothing where an error
// stopped it. Any other end is a bug of ours.
std::optional<std::size_t> ask_all(const std::string& path, const std::vector<std::string>& keys) {
  try {
    const InputFile file(path);
    const auto map = open_map(path);
    const auto forward = map->cursor();
    std::size_t count = 0;
    while (forward->next()) {
      (void)value_of(file, *forward->current());
      ++count;
    }
    const auto backward = map->cursor();
    while (backward->prev()) (void)backward->current();
    for (const std::string& key : keys) {
      (void)map->find(as_bytes(key));
      (void)map->cursor()->seek_range(as_bytes(key));
    }
    return count;
  } catch (const Error& error) {
    CHECK((error.code() == Code::damaged || error.code() == Code::unsupported));
    return std::nullopt;
  }
}

struct SmallFile {
  std::string bytes;
  std::vector<std::string> keys;
};

// Three levels of 512-byte pages, with values in overflow pages.
SmallFile small_file() {
  SmallFile small;
  Entries entries;
  for (int i = 0; i < 700; ++i) {
    entries.emplace_back(fmt::format("{:08}", i), std::string(i % 100 == 0 ? 1500 : 20, 'v'));
    small.keys.push_back(entries.back().first);
  }
  small.bytes = test::LmdbBuilder(512).build(entries);
  return small;
}

TEST_CASE("lmdb cursor: a file cut anywhere is an error, never a crash") {
  const TempDir dir;
  const SmallFile small = small_file();
  test::write_file(dir / "a.lmdb", small.bytes);
  CHECK(ask_all(dir / "a.lmdb", small.keys) == small.keys.size());
  for (std::size_t size = 0; size < small.bytes.size(); size += 256) {
    CAPTURE(size);
    std::filesystem::resize_file(dir / "a.lmdb", size);
    CHECK(!ask_all(dir / "a.lmdb", small.keys));
    test::write_file(dir / "a.lmdb", small.bytes);
  }
}

TEST_CASE("lmdb cursor: a file that is cut while it is open is an error") {
  const TempDir dir;
  const SmallFile small = small_file();
  test::write_file(dir / "a.lmdb", small.bytes);
  const auto map = open_map(dir / "a.lmdb");
  std::filesystem::resize_file(dir / "a.lmdb", 2048);
  const Error error = error_of([&] { (void)map->find(as_bytes(small.keys[7])); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == dir / "a.lmdb");
  CHECK(error.offset());
}

TEST_CASE("lmdb cursor: each byte of tree and meta pages changed ends in entries or an error") {
  constexpr unsigned kSeed = 5;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  const TempDir dir;
  const SmallFile small = small_file();
  test::write_file(dir / "a.lmdb", small.bytes);
  std::size_t refused = 0, tried = 0;
  constexpr unsigned kMostStep = test::kIsInstrumented ? 35 : 7;
  for (std::size_t at = 0; at < small.bytes.size(); at += 1 + random() % kMostStep) {
    const bool is_filler = small.bytes[at] == 'v';  // of a value: nothing to see there
    if (is_filler) continue;
    test::set_byte(dir / "a.lmdb", at, small.bytes[at] ^ (1 << random() % 8));
    const auto count = ask_all(dir / "a.lmdb", small.keys);
    test::set_byte(dir / "a.lmdb", at, small.bytes[at]);
    CAPTURE(at);
    if (count) CHECK(*count <= small.keys.size() * 2);
    refused += count ? 0 : 1;
    ++tried;
  }
  CHECK(tried > 3500 / kMostStep);
  CHECK(refused * 4 > tried);  // the rest are keys, and bytes that hold nothing
}

TEST_CASE("lmdb cursor: pages that refer to themselves or to each other end in an error") {
  const TempDir dir;
  const SmallFile small = small_file();
  std::vector<std::uint64_t> branches, leaves;
  for (std::uint64_t page = 2; page < small.bytes.size() / 512; ++page) {
    const auto number = test::get_number<std::uint64_t>(small.bytes, page * 512);
    const auto flags = test::get_number<std::uint16_t>(small.bytes, page * 512 + 10);
    if (number == page && flags == lmdb::kBranchPage) branches.push_back(page);
    if (number == page && flags == lmdb::kLeafPage) leaves.push_back(page);
  }
  REQUIRE(branches.size() > 1);
  for (const std::uint64_t page : branches) {
    for (const std::uint64_t target : {page, branches.back(), leaves.front(), std::uint64_t{0},
                                       small.bytes.size() / 512, ~std::uint64_t{0} >> 16}) {
      CAPTURE(page);
      CAPTURE(target);
      std::string bytes = small.bytes;
      // The child of the page's last node.
      const auto lower = test::get_number<std::uint16_t>(bytes, page * 512 + 12);
      const auto node = test::get_number<std::uint16_t>(bytes, page * 512 + lower - 2);
      test::set_number(bytes, page * 512 + node, static_cast<std::uint32_t>(target));
      test::set_number(bytes, page * 512 + node + 4, static_cast<std::uint16_t>(target >> 32));
      test::write_file(dir / "a.lmdb", bytes);
      CHECK(!ask_all(dir / "a.lmdb", small.keys));
    }
  }
}

TEST_CASE("lmdb cursor: a value larger than the file is refused before memory is taken") {
  const TempDir dir;
  std::string bytes = test::LmdbBuilder(512).build({{"a", std::string(2000, 'v')}});
  const std::size_t leaf = bytes.size() - 512;
  const auto node = test::get_number<std::uint16_t>(bytes, leaf + 16);
  test::set_number(bytes, leaf + node, std::uint32_t{0xffff'fff0});
  test::write_file(dir / "a.lmdb", bytes);
  const Error error = error_of([&] { (void)open_map(dir / "a.lmdb")->find(as_bytes("a")); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.message().find("pages from page 2 on") != std::string::npos);
}

}  // namespace
}  // namespace shale
