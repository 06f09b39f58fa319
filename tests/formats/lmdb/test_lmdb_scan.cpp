#include <filesystem>
#include <functional>
#include <random>
#include <span>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "shale/base/checksum.hpp"

#include "tests/formats/lmdb/lmdb_page_builder.hpp"
#include "tests/formats/lmdb/lmdb_scan_tools.hpp"
#include "tests/support/sampled_walk.hpp"

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
  const lmdb::TreeStatistics totals = test::walk_lmdb(path);
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

TEST_CASE("lmdb scan: a sparse file of MDB_WRITEMAP is walked, and ends where its pages do") {
  const TempDir dir;
  {
    LmdbFile file(dir / "a.lmdb", MDB_WRITEMAP, 0, 1 << 26);
    file.put_all(numbered(2000, 100));
    file.put_all(numbered(1000, 9000));
    check_like_liblmdb(file, dir / "a.lmdb");
  }
  CHECK(std::filesystem::file_size(dir / "a.lmdb") == 1 << 26);
}

TEST_CASE("lmdb scan: keys that are integers, or ordered from their ends, are in order") {
  for (const unsigned flags : {unsigned{MDB_INTEGERKEY}, unsigned{MDB_REVERSEKEY}}) {
    CAPTURE(flags);
    const TempDir dir;
    LmdbFile file(dir / "a.lmdb", 0, MDB_CREATE | flags);
    Entries entries;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::uint64_t number = i * 2654435761U % 100'000;
      entries.emplace_back(as_text(bytes_of(number)), fmt::format("{}", number));
    }
    file.put_all(entries);
    check_like_liblmdb(file, dir / "a.lmdb");
  }
}

TEST_CASE("lmdb scan: pages of any size are read") {
  for (std::uint64_t page_bytes = 512; page_bytes <= 65'536; page_bytes *= 2) {
    CAPTURE(page_bytes);
    const TempDir dir;
    Entries entries = numbered(5000, 50);
    for (std::size_t i = 0; i < entries.size(); i += 100) entries[i].second.resize(100'000, 'L');
    test::write_file(dir / "a.lmdb", test::LmdbBuilder(page_bytes).build(entries));
    for (const bool reads_payload : {false, true}) {
      const LmdbScanned scanned = scan_plain(dir / "a.lmdb", reads_payload);
      CHECK(scanned.first_finding() == "");
      CHECK((entries_by_rows(dir / "a.lmdb", scanned.rows) == entries));
    }
  }
}

TEST_CASE("lmdb scan: a value of 4 GiB - 1 is one place, and its checksum takes a window" *
          doctest::test_suite("slow")) {
  const TempDir dir;
  constexpr std::uint64_t kBytes = lmdb::kMaxValueBytes;
  std::string sound = test::LmdbBuilder(4096).build({{"a", std::string(5000, '\0')}});
  const std::uint64_t pages = lmdb::overflow_pages(kBytes, 4096), leaf_at = 4 * 4096;
  // The overflow pages come last in the new file, all of them zeros but for their header.
  std::string leaf = sound.substr(leaf_at, 4096), extent = sound.substr(2 * 4096, 4096);
  test::set_number(leaf, 0, std::uint64_t{2});
  test::set_number(leaf, 4096 - 18, static_cast<std::uint32_t>(kBytes));
  test::set_number(leaf, 4096 - 18 + 9, std::uint64_t{3});
  test::set_number(extent, 0, std::uint64_t{3});
  test::set_number(extent, 12, static_cast<std::uint32_t>(pages));
  test::set_number(sound, 4096 + 112, pages);
  test::set_number(sound, 4096 + 128, std::uint64_t{2});
  test::set_number(sound, 4096 + 136, pages + 2);
  test::write_file(dir / "a.lmdb", sound.substr(0, 8192) + leaf + extent);
  std::filesystem::resize_file(dir / "a.lmdb", (pages + 3) * 4096);

  const LmdbScanned scanned = scan_plain(dir / "a.lmdb", true);

  CHECK(scanned.first_finding() == "");
  REQUIRE(scanned.rows.size() == 1);
  const FieldPlace& place = scanned.rows[0].cells[0].place;
  CHECK(place.offset == 3 * 4096 + 16);
  CHECK(place.length == kBytes);
  std::uint32_t expected = 0;
  const std::string zeros(1 << 20, '\0');
  for (std::uint64_t left = kBytes; left > 0; left -= std::min<std::uint64_t>(left, zeros.size()))
    expected = crc32c(as_bytes(zeros).first(std::min<std::uint64_t>(left, zeros.size())), expected);
  CHECK(place.crc32c == expected);
}

// A small file of liblmdb with branch, leaf, overflow and free pages.
std::string small_file(const TempDir& dir) {
  {
    LmdbFile file(dir / "a.lmdb");
    Entries entries = numbered(30, 900);
    entries[4].second.resize(9000, 'L');
    entries[20].second.resize(5000, 'L');
    file.put_all(entries);
    file.change([&](MDB_txn* txn, MDB_dbi dbi) {
      for (int i = 8; i < 20; ++i) LmdbFile::remove(txn, dbi, fmt::format("{:08}", i));
    });
  }
  return test::read_text(dir / "a.lmdb");
}

TEST_CASE("lmdb scan: a file cut at any length is found, or has lost nothing") {
  const TempDir dir;
  const std::string sound = small_file(dir);
  const std::vector<IndexRow> rows = scan_plain(dir / "a.lmdb").rows;
  REQUIRE(rows.size() == 18);
  for (std::size_t length = sound.size(); length-- > 0;) {
    if (length % 4096 > 20 && length % 256 != 0) continue;
    CAPTURE(length);
    std::filesystem::resize_file(dir / "a.lmdb", length);
    for (const bool reads_payload : {false, true}) {
      const LmdbScanned scanned = scan_plain(dir / "a.lmdb", reads_payload);
      if (scanned.findings.empty() && !reads_payload) CHECK((scanned.rows == rows));
      if (scanned.findings.empty()) CHECK(scanned.rows.size() == rows.size());
    }
  }
  CHECK(error_of([&] {
          (void)survey_lmdb_file(InputFile(dir / "a.lmdb"), Dialect::plain);
        }).code() == Code::damaged);
}

TEST_CASE("lmdb scan: every flipped bit of a page's header is found, or changes nothing") {
  const TempDir dir;
  const std::string sound = small_file(dir);
  const std::vector<IndexRow> rows = scan_plain(dir / "a.lmdb").rows;
  std::size_t found = 0;
  for (std::size_t page = 0; page < sound.size() / 4096; ++page) {
    const std::size_t header = page < lmdb::kMetaPages ? lmdb::kMetaBytes : 16;
    for (std::size_t bit = 0; bit < header * 8; ++bit) {
      const std::size_t at = page * 4096 + bit / 8;
      test::set_byte(dir / "a.lmdb", at, sound[at] ^ (1 << (bit % 8)));
      found += scan_plain(dir / "a.lmdb", true).findings.empty() ? 0 : 1;
      const LmdbScanned structure = scan_plain(dir / "a.lmdb");
      if (structure.findings.empty() && structure.rows != rows)
        FAIL_CHECK("page ", page, ", bit ", bit, " was flipped unseen");
      test::set_byte(dir / "a.lmdb", at, sound[at]);
    }
  }
  CHECK(found > 1000);
}

TEST_CASE("lmdb scan: any damage to any page gives findings and rows inside the file, and ends") {
  constexpr unsigned kSeed = 17;
  std::mt19937 random(kSeed);
  const TempDir dir;
  Entries entries = numbered(400, 20);
  entries[7].second.resize(3000, 'L');
  const std::string sound = test::LmdbBuilder(512).build(entries);
  test::write_file(dir / "a.lmdb", sound);
  for (int round = 0; round < (test::kIsInstrumented ? 600 : 3000); ++round) {
    std::vector<std::size_t> changed;
    for (unsigned i = 0; i < 1 + random() % 8; ++i) {
      const std::size_t page = random() % (sound.size() / 512);
      changed.push_back(page * 512 + (random() % 3 == 0 ? random() % 512 : random() % 160));
      test::set_byte(dir / "a.lmdb", changed.back(), static_cast<int>(random()));
    }
    for (const IndexRow& row : scan_plain(dir / "a.lmdb", round % 2 == 0).rows) {
      const FieldPlace& place = row.cells[0].place;
      REQUIRE((place.offset == kMissing || place.offset + place.length <= sound.size()));
    }
    for (const std::size_t at : changed) test::set_byte(dir / "a.lmdb", at, sound[at]);
  }
}

// What the scan finds first in a file of the builder that `lie` has changed.
std::string first_finding_after(const std::function<void(std::string&)>& lie) {
  Entries entries = numbered(60, 20);
  entries[3].second.resize(1100, 'L');   // pages 2 to 4
  entries[50].second.resize(1100, 'L');  // pages 5 to 7
  std::string bytes = test::LmdbBuilder(512).build(entries);
  lie(bytes);
  const TempDir dir;
  test::write_file(dir / "a.lmdb", bytes);
  return scan_plain(dir / "a.lmdb").first_finding();
}

struct Lie {
  std::string_view finding;
  std::function<void(std::string&)> lie;
};

void check_lies(std::span<const Lie> rows) {
  for (const Lie& row : rows) {
    CAPTURE(row.finding);
    const std::string found = first_finding_after(row.lie);
    if (row.finding.empty()) CHECK(found == "");
    CHECK_MESSAGE(found.find(row.finding) != std::string::npos, found);
  }
}

TEST_CASE("lmdb scan: trees that lie about themselves are named, page and numbers") {
  constexpr std::uint64_t kLeaf = 8, kMeta = 512;  // leaves are pages 8 to 12, the root is page 13
  constexpr std::uint64_t kRoot = 13;
  const auto node_at = [](const std::string& bytes, std::uint64_t page, std::uint64_t node) {
    return page * 512 + test::get_number<std::uint16_t>(bytes, page * 512 + 16 + 2 * node);
  };
  const Lie rows[] = {
      {"", [](std::string&) {}},
      {"a.lmdb: byte 512: record of the tree of entries disagrees on its depth: found 2, "
       "expected 3",
       [](std::string& b) { test::set_number(b, kMeta + 94, std::uint16_t{3}); }},
      {"a.lmdb: byte 512: record of the tree of entries disagrees on its entries: found 60, "
       "expected 61",
       [](std::string& b) { test::set_number(b, kMeta + 120, std::uint64_t{61}); }},
      {"a.lmdb: byte 512: page 14 of the tree of entries is not in the file: found 14, expected 2 "
       "to 13",
       [](std::string& b) { test::set_number(b, kMeta + 128, std::uint64_t{14}); }},
      {"page 13 is referred to twice",  // a circle
       [&](std::string& b) { test::set_number(b, node_at(b, kRoot, 2), std::uint32_t{kRoot}); }},
      {"page 8 is referred to twice",
       [&](std::string& b) { test::set_number(b, node_at(b, kRoot, 2), std::uint32_t{kLeaf}); }},
      {"page 1 of the tree of entries is not in the file: found 1, expected 2 to 13",
       [&](std::string& b) { test::set_number(b, node_at(b, kRoot, 2), std::uint32_t{1}); }},
      {"sample '00000050': overflow pages of a value are in use already: found page 2",
       [&](std::string& b) {
         const std::uint64_t from = node_at(b, kLeaf, 3);
         for (std::uint64_t page = kLeaf; page < kRoot; ++page) {
           const std::uint64_t at = b.find("00000050", page * 512);
           if (at < (page + 1) * 512) test::set_number(b, at + 8, b.substr(from + 16, 8)[0]);
         }
       }},
      {"sample '00000003': overflow pages of a value are not in the file: found 14 pages from page "
       "2 on, expected 2 to 13",
       [&](std::string& b) { test::set_number(b, node_at(b, kLeaf, 3), std::uint32_t{7000}); }},
      {"page 9 has a different number in its header: found 8, expected 9",
       [](std::string& b) { test::set_number(b, 9 * 512, std::uint64_t{8}); }},
      {"page 9 is not a tree page: found flags 0x0012",  // dirty
       [](std::string& b) { test::set_number(b, 9 * 512 + 10, std::uint16_t{0x12}); }},
      {"free space of page 9 lies outside it: found 16 to 1000",
       [](std::string& b) {
         test::set_number(b, 9 * 512 + 12, std::uint16_t{16});
         test::set_number(b, 9 * 512 + 14, std::uint16_t{1000});
       }},
      {"page 9 has too few nodes: found 0, expected 1 or more",
       [](std::string& b) { test::set_number(b, 9 * 512 + 12, std::uint16_t{16}); }},
      {"node 1 lies outside its page: found 510",
       [](std::string& b) { test::set_number(b, 9 * 512 + 18, std::uint16_t{510}); }},
      {"node 1 reaches beyond its page",
       [&](std::string& b) { test::set_number(b, node_at(b, 9, 1) + 6, std::uint16_t{500}); }},
      {"nodes of a page overlap",
       [&](std::string& b) { std::memcpy(b.data() + 9 * 512 + 18, b.data() + 9 * 512 + 16, 2); }},
      {"bytes between the nodes of a page belong to no node: found 2 bytes",
       [&](std::string& b) { test::set_number(b, node_at(b, 9, 1), std::uint32_t{18}); }},
      {"key 1 of page 9 is out of order", [&](std::string& b) { b[node_at(b, 9, 1) + 8] = '/'; }},
      {"expected one below '", [&](std::string& b) { b[node_at(b, 9, 1) + 8] = '1'; }},
  };
  check_lies(rows);
}

TEST_CASE("lmdb scan: meta pages that do not fit together are named") {
  constexpr std::uint64_t kMeta = 512;
  const Lie rows[] = {
      {"the transactions of the two meta pages do not follow each other (not consecutive): found 0 "
       "and 3",
       [](std::string& b) { test::set_number(b, kMeta + 144, std::uint64_t{3}); }},
      {"",  // as shale writes it: the same tree in both meta pages
       [](std::string& b) { b.replace(40, 104, b, kMeta + 40, 104); }},
      {"do not follow each other (entries before the first transaction)",
       [](std::string& b) {
         test::set_number(b, 128, std::uint64_t{9});
         test::set_number(b, 136, std::uint64_t{9});
       }},
      {"do not follow each other (the newer one has fewer pages)",
       [](std::string& b) { test::set_number(b, 136, std::uint64_t{14}); }},
      {"the second meta page is unusable (magic of LMDB is 0x00000000, expected 0xbeefc0de)",
       [](std::string& b) { test::set_number(b, kMeta + 16, 0U); }},
      {"the two meta pages differ in page size: found 1024, expected 512",
       [](std::string& b) { test::set_number(b, kMeta + 40, 1024U); }},
  };
  check_lies(rows);
}

TEST_CASE("lmdb scan: leaves at another depth than the first are found") {
  // The root of two levels, as the second child of a root above it.
  std::string inner = test::LmdbBuilder(512).build(numbered(60, 20));
  const std::uint64_t pages = inner.size() / 512;
  const std::string_view low = "!", high = "00000000";
  inner += test::tree_page(512, pages, lmdb::kLeafPage, {{.key = std::string(low)}});
  inner += test::tree_page(512, pages + 1, lmdb::kBranchPage,
                           {{.child = pages}, {.key = std::string(high), .child = pages - 1}});
  test::set_number(inner, 512 + 128, pages + 1);
  test::set_number(inner, 512 + 136, pages + 1);
  const TempDir dir;
  test::write_file(dir / "a.lmdb", inner);

  const LmdbScanned scanned = scan_plain(dir / "a.lmdb");

  CHECK(scanned.first_finding().find("is at the wrong depth: found 3, expected 2") !=
        std::string::npos);
  CHECK(scanned.rows.size() == 61);
}

TEST_CASE("lmdb scan: a lost leaf costs its own entries") {
  const TempDir dir;
  Entries entries = numbered(60, 20);
  std::string bytes = test::LmdbBuilder(512).build(entries);
  bytes[3 * 512 + 10] = '\xff';
  test::write_file(dir / "a.lmdb", bytes);

  const LmdbScanned scanned = scan_plain(dir / "a.lmdb");

  CHECK(scanned.findings.size() == 1);
  const Entries found = entries_by_rows(dir / "a.lmdb", scanned.rows);
  CHECK(found.size() > 40);
  CHECK(std::includes(entries.begin(), entries.end(), found.begin(), found.end()));
}

TEST_CASE("lmdb scan: free pages that are in use, out of range or not in order are found") {
  constexpr std::uint64_t kPage = 512;
  struct Row {
    std::vector<std::uint64_t> list;
    std::string_view finding;
  };
  const Row rows[] = {
      {{2, 7, 6}, ""},
      {{0, 7, 6}, ""},
      {{3, 7, 6}, "list of free pages is longer than its value: found 3 pages, expected 3 words"},
      {{2, 6, 7}, "list of free pages names one that cannot be free: found 7"},
      {{2, 9, 7}, "list of free pages names one that cannot be free: found 9"},
      {{2, 7, 1}, "list of free pages names one that cannot be free: found 1"},
      {{2, 7, 4}, "page 4 is free and in use"},
      {{2, 7, 5}, "page 5 is free and in use"},
  };
  const std::string sound =
      test::LmdbBuilder(kPage).build({{"a", "x"}, {"b", std::string(600, 'L')}});
  REQUIRE(sound.size() == 5 * kPage);  // 2 and 3: a value; 4: the leaf; then 5: the free tree
  for (const Row& row : rows) {
    CAPTURE(row.finding);
    std::string list;
    for (const std::uint64_t word : row.list) list += as_text(bytes_of(word));
    const std::uint64_t transaction = 1;
    std::string bytes = sound;
    bytes += test::tree_page(kPage, 5, lmdb::kLeafPage,
                             {{.key = std::string(as_text(bytes_of(transaction))), .value = list}});
    bytes.resize(8 * kPage);
    test::set_number(bytes, kPage + 46, std::uint16_t{1});
    for (const std::uint64_t at : {56U, 72U}) test::set_number(bytes, kPage + at, std::uint64_t{1});
    test::set_number(bytes, kPage + 80, std::uint64_t{5});
    test::set_number(bytes, kPage + 136, std::uint64_t{7});
    const TempDir dir;
    test::write_file(dir / "a.lmdb", bytes);
    const std::string found = scan_plain(dir / "a.lmdb").first_finding();
    if (row.finding.empty()) CHECK(found == "");
    CHECK_MESSAGE(found.find(row.finding) != std::string::npos, found);
  }
}

TEST_CASE("lmdb survey: a plain file is keys and one field of bytes") {
  const TempDir dir;
  LmdbFile(dir / "a.lmdb").put_all(numbered(3, 5));

  const Survey survey = survey_lmdb_file(InputFile(dir / "a.lmdb"), Dialect::plain);

  REQUIRE(survey.schema.fields.size() == 1);
  CHECK(survey.schema.fields[0].name == "value");
  CHECK(survey.schema.fields[0].kind == Kind::bytes);
  CHECK(survey.layout.has_keys);
  CHECK_FALSE(survey.layout.has_whole_records);
  CHECK(survey.layout.file_suffixes == std::vector<std::string>{""});
  CHECK(survey.layout.dialect == Dialect::plain);
  const LmdbScanned scanned = test::scan_surveyed(dir / "a.lmdb", Dialect::plain, true);
  CHECK((entries_by_rows(dir / "a.lmdb", scanned.rows) == numbered(3, 5)));
}

TEST_CASE("lmdb survey: named databases are refused by name") {
  const TempDir dir;
  {
    LmdbFile file(dir / "named.lmdb");
    file.put_all(numbered(300, 5));
    file.put_all(numbered(3, 5), "x");
  }
  const Error refusal =
      error_of([&] { (void)survey_lmdb_file(InputFile(dir / "named.lmdb"), Dialect::plain); });

  CHECK(refusal.code() == Code::unsupported);
  CHECK(refusal.message() == "holds named databases: 'x' (3 entries)");
  CHECK(scan_plain(dir / "named.lmdb").findings.size() == 1);
}

// As mdb_cmp_memn has them: shorter values are in front of what they begin.
Entries values_of_keys(int keys, int values, std::size_t bytes) {
  Entries entries;
  for (int key = 0; key < keys; ++key) {
    for (int value = 0; value < (key == 1 ? 1 : values); ++value) {
      std::string text = fmt::format("{:06}", value);
      text.resize(bytes, '.');
      entries.emplace_back(fmt::format("k{}", key), std::move(text));
    }
  }
  return entries;
}

TEST_CASE(
    "lmdb scan: each value of a key is a row, in sub-pages and in trees, of any size or one") {
  for (const unsigned flags : {0U + MDB_DUPSORT, 0U + (MDB_DUPSORT | MDB_DUPFIXED)}) {
    for (const int values : {1, 2, 5, 40, 3000}) {
      for (const std::size_t bytes : {6U, 7U, 300U}) {
        CAPTURE(flags);
        CAPTURE(values);
        CAPTURE(bytes);
        const TempDir dir;
        const Entries expected = values_of_keys(5, values, bytes);
        LmdbFile(dir / "a.lmdb", 0, MDB_CREATE | flags).put_all(expected);
        const LmdbScanned scanned = scan_plain(dir / "a.lmdb");
        CHECK(scanned.first_finding() == "");
        CHECK((entries_by_rows(dir / "a.lmdb", scanned.rows) == expected));
      }
    }
  }
}

TEST_CASE("lmdb scan: no damaged byte of sorted duplicates stops the walk or reads outside") {
  const TempDir dir;
  LmdbFile(dir / "a.lmdb", 0, MDB_CREATE | MDB_DUPSORT).put_all(values_of_keys(3, 5, 7));
  LmdbFile(dir / "b.lmdb", 0, MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED)
      .put_all(values_of_keys(2, 1500, 6));
  for (const char* const name : {"a.lmdb", "b.lmdb"}) {
    const std::string sound = test::read_text(dir / name);
    constexpr std::size_t kStep = test::kIsInstrumented ? 67 : 1,
                          kFar = test::kIsInstrumented ? 401 : 61;
    for (std::size_t at = 0; at < sound.size(); at += at % 4096 < 1200 ? kStep : kFar) {
      for (const char byte : {'\0', '\xff', static_cast<char>(sound[at] ^ 2)}) {
        std::string damaged = sound;
        damaged[at] = byte;
        test::write_file(dir / "c.lmdb", damaged);
        CHECK_NOTHROW((void)scan_plain(dir / "c.lmdb"));
      }
    }
  }
}

TEST_CASE("lmdb survey: files of other LMDB versions and machines are refused by name") {
  struct Row {
    std::uint64_t offset;
    std::uint32_t magic, version;
    std::string_view message;
  };
  const Row rows[] = {
      {16, lmdb::kMagic, 999,
       "unsupported LMDB data version 999 (of a development build), only 1 is supported"},
      {16, lmdb::kMagic, 2, "unsupported LMDB data version 2, only 1 is supported"},
      {16, 0xdec0efbe, 0x01000000, "an LMDB file of a big-endian machine, whose layout differs"},
      {12, lmdb::kMagic, 1, "an LMDB file of a 32-bit program, whose layout differs"},
      {24, lmdb::kMagic, 1, "an LMDB file of LMDB 1.0 or a preview of it, whose layout differs"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    std::string page(8192, '\0');
    test::set_number(page, 10, std::uint16_t{lmdb::kMetaPage});
    test::set_number(page, row.offset, row.magic);
    test::set_number(page, row.offset + 4, row.version);
    const TempDir dir;
    test::write_file(dir / "a.lmdb", page);
    const Error error =
        error_of([&] { (void)survey_lmdb_file(InputFile(dir / "a.lmdb"), Dialect::plain); });
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message() == row.message);
    CHECK(scan_plain(dir / "a.lmdb").findings.size() == 1);
  }
}

TEST_CASE("lmdb survey: what is no LMDB file is damaged, with its place") {
  for (const std::string& bytes : {std::string(), std::string(100, 'x'), std::string(8192, '\0')}) {
    const TempDir dir;
    test::write_file(dir / "a.lmdb", bytes);
    const Error error =
        error_of([&] { (void)survey_lmdb_file(InputFile(dir / "a.lmdb"), Dialect::plain); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.offset().has_value());
  }
}

}  // namespace
}  // namespace shale
