#include <filesystem>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "shale/base/checksum.hpp"

#include "tests/formats/lmdb/lmdb_scan_tools.hpp"

namespace shale {
namespace {

using test::entries_by_rows;
using test::error_of;
using test::LmdbFile;
using test::LmdbScanned;
using test::scan_plain;
using test::TempDir;
using Entries = std::vector<std::pair<std::string, std::string>>;

// Keys of 8 digits; values of `bytes` bytes, no two alike.
Entries numbered(std::uint64_t count, std::size_t bytes) {
  Entries entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string value = fmt::format("{:08x}", i * 2654435761U);
    value.resize(bytes, static_cast<char>('a' + i % 26));
    entries.emplace_back(fmt::format("{:08}", i), std::move(value));
  }
  return entries;
}

// The scan of a plain file gives what liblmdb gives: entries, statistics, nothing wrong; with and
// without payload.
void check_like_liblmdb(const LmdbFile& file, const std::string& path) {
  const Entries expected = file.entries();
  for (const bool reads_payload : {false, true}) {
    const LmdbScanned scanned = scan_plain(path, reads_payload);
    CHECK(scanned.first_finding() == "");
    CHECK((entries_by_rows(path, scanned.rows) == expected));
    for (std::size_t i = 0; reads_payload && i < scanned.rows.size(); ++i) {
      const IndexRow& row = scanned.rows[i];
      REQUIRE(row.key.crc32c == crc32c(as_bytes(expected[i].first)));
      REQUIRE(row.key_hash == xxh3_64(as_bytes(expected[i].first)));
      REQUIRE(row.cells[0].place.crc32c == crc32c(as_bytes(expected[i].second)));
    }
  }
  const MDB_stat facts = file.stat();
  const lmdb::TreeTotals totals = test::walk_lmdb(path);
  CHECK(totals.depth == facts.ms_depth);
  CHECK(totals.branch_pages == facts.ms_branch_pages);
  CHECK(totals.leaf_pages == facts.ms_leaf_pages);
  CHECK(totals.overflow_pages <= facts.ms_overflow_pages);
  CHECK(totals.entries == facts.ms_entries);
}

TEST_CASE("lmdb scan: files of liblmdb give the entries and statistics that liblmdb gives") {
  struct Row {
    std::uint64_t count;
    std::size_t bytes;
  };
  constexpr Row kRows[] = {{0, 0},        {1, 0},       {1, 5'000'000}, {1000, 0},
                           {1000, 10},    {1000, 2026}, {1000, 2027},   {300, 4080},
                           {300, 40'000}, {100'000, 30}};
  for (const Row& row : kRows) {
    CAPTURE(row.count);
    CAPTURE(row.bytes);
    const TempDir dir;
    LmdbFile file(dir / "a.lmdb");
    file.put_all(numbered(row.count, row.bytes));
    check_like_liblmdb(file, dir / "a.lmdb");
  }
}

TEST_CASE("lmdb scan: a file that was changed many times is walked, free pages and all") {
  constexpr unsigned kSeed = 3;
  std::mt19937 random(kSeed);
  const TempDir dir;
  LmdbFile file(dir / "a.lmdb");
  file.put_all(numbered(3000, 100));
  for (int round = 0; round < 60; ++round) {
    file.change([&](MDB_txn* txn, MDB_dbi dbi) {
      for (int step = 0; step < 120; ++step) {
        const std::string key = fmt::format("{:08}", random() % 4000);
        const std::size_t bytes = random() % 3 == 0 ? random() % 40'000 : random() % 1500;
        MDB_val k{key.size(), const_cast<char*>(key.data())};
        if (random() % 3 == 0) (void)::mdb_del(txn, dbi, &k, nullptr);
        LmdbFile::put(txn, dbi, key, std::string(bytes, 'x'));
        if (random() % 4 == 0) LmdbFile::put(txn, dbi, key, std::string(bytes / 2, 'y'));
        if (random() % 3 == 0) LmdbFile::remove(txn, dbi, key);
      }
    });
    if (round % 20 == 19) check_like_liblmdb(file, dir / "a.lmdb");
  }
  file.change([&](MDB_txn* txn, MDB_dbi dbi) { test::check_lmdb(::mdb_drop(txn, dbi, 0)); });
  check_like_liblmdb(file, dir / "a.lmdb");
  file.put_all(numbered(10, 10));
  check_like_liblmdb(file, dir / "a.lmdb");
}

}  // namespace
}  // namespace shale
