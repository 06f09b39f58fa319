#include <filesystem>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "shale/base/checksum.hpp"

#include "tests/formats/lmdb/lmdb_judge.hpp"

namespace shale {
namespace {

using lmdb::kPageBytes;
using lmdb::TreeStatistics;
using test::error_of;
using test::LmdbEntries;
using test::LmdbJudge;
using test::TempDir;
using test::write_pages;
using test::WrittenPages;

// Bytes that differ from place to place and from entry to entry.
std::string value_of(std::uint64_t bytes, std::uint64_t number) {
  std::string value(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i)
    value[i] = static_cast<char>(i * 131 + i / 241 + number * 29 + 1);
  return value;
}

// `count` entries as a shard has them.
LmdbEntries entries_of(std::uint64_t count, std::uint64_t value_bytes) {
  LmdbEntries entries;
  for (std::uint64_t i = 0; i < count; ++i)
    entries.emplace_hint(entries.end(), fmt::format("{:08}", i), value_of(value_bytes, i));
  return entries;
}

// Everything that liblmdb can say of a file that we wrote, as a sentence where it is not content.
std::string verdict(const LmdbEntries& entries) {
  const TempDir dir;
  const WrittenPages written = write_pages(dir / "ours", entries);
  {
    const LmdbJudge ours(dir / "ours");
    if (std::string fault = test::difference(ours, entries); !fault.empty()) return fault;
    if (ours.statistics() != written.foretold) return "mdb_stat is not what was foretold";
    if ((ours.info().me_last_pgno + 1) * kPageBytes != written.file.bytes) return "last page";
    ours.copy_compact(dir / "copy");
  }
  if (std::string fault = test::difference(LmdbJudge(dir / "copy"), entries); !fault.empty())
    return "copy: " + fault;
  test::write_by_liblmdb(dir / "theirs", entries);
  if (std::string fault = test::difference(LmdbJudge(dir / "theirs"), entries); !fault.empty())
    return "theirs: " + fault;

  if (written.foretold.file_bytes() != written.file.bytes) return "size is not what was foretold";
  if (std::filesystem::file_size(dir / "ours") != written.file.bytes) return "size on disk";
  if (written.offsets.size() != entries.size()) return "offsets are owed";
  const std::string bytes = test::read_text(dir / "ours");
  auto offset = written.offsets.begin();
  for (const auto& [key, value] : entries) {
    if (bytes.compare(*offset++, value.size(), value) != 0) return "offset of " + key;
  }
  return "";
}

TEST_CASE("lmdb page writer: a file of no entry has two meta pages, and liblmdb finds it empty") {
  const TempDir dir;
  const WrittenPages written = write_pages(dir / "a", {});

  CHECK(written.file.bytes == 2 * kPageBytes);
  CHECK(LmdbJudge(dir / "a").statistics() == TreeStatistics{});
  CHECK(LmdbJudge(dir / "a").info().me_last_pgno == 1);
  CHECK(verdict({}).empty());
}

TEST_CASE("lmdb page writer: liblmdb accepts and reads any number of entries") {
  struct Row {
    std::uint64_t value_bytes;
    std::vector<std::uint64_t> counts;
  };
  // 16 bytes: a leaf holds exactly 120. 2022 bytes: two fill a leaf, and a branch page holds 227
  // leaves, so that the 455th entry needs the second branch page. 5000 bytes: overflow pages.
  const Row rows[] = {{16, {1, 2, 3, 119, 120, 121, 122, 239, 240, 241}},
                      {2022, {1, 2, 3, 4, 5, 452, 453, 454, 455, 456, 457, 906, 907, 908}},
                      {5000, {1, 2, 169, 170, 171, 172, 341}},
                      {0, {1, 2, 226, 227, 228}}};
  for (const Row& row : rows) {
    for (const std::uint64_t count : row.counts) {
      CAPTURE(row.value_bytes);
      CAPTURE(count);
      CHECK(verdict(entries_of(count, row.value_bytes)) == "");
    }
  }
}

TEST_CASE("lmdb page writer: pages are as full as can be") {
  const auto leaves = [](std::uint64_t count, std::uint64_t value_bytes) {
    const TempDir dir;
    return write_pages(dir / "a", entries_of(count, value_bytes)).foretold.leaf_pages;
  };
  CHECK(leaves(120, 16) == 1);
  CHECK(leaves(121, 16) == 2);
  CHECK(leaves(2, 2022) == 1);
  CHECK(leaves(3, 2022) == 2);
}

TEST_CASE("lmdb page writer: a second branch page begins with the last node of the first") {
  const TempDir dir;

  const TreeStatistics one = write_pages(dir / "a", entries_of(454, 2022)).foretold,
                       two = write_pages(dir / "b", entries_of(455, 2022)).foretold;

  CHECK(one == TreeStatistics{454, 2, 1, 227, 0});
  CHECK(two == TreeStatistics{455, 3, 3, 228, 0});
}

TEST_CASE("lmdb page writer: 100,000 entries of mixed sizes") {
  LmdbEntries entries;
  std::mt19937_64 random(3);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::uint64_t bytes = random() % (i % 100 == 0 ? 9000 : 300);
    entries.emplace_hint(entries.end(), fmt::format("{:08}", i), value_of(bytes, i));
  }
  CHECK(verdict(entries) == "");
}

TEST_CASE("lmdb page writer: a million tiny values" * doctest::test_suite("slow")) {
  CHECK(verdict(entries_of(1'000'000, 3)) == "");
}

TEST_CASE("lmdb page writer: values of every size around the limit of a node") {
  for (const std::uint64_t key_bytes : {1U, 8U, 9U, 511U}) {
    const std::uint64_t largest =
        lmdb::max_node_bytes(kPageBytes) - lmdb::kNodeHeaderBytes - key_bytes;
    for (std::uint64_t size = largest - 20; size <= largest + 20; ++size) {
      CAPTURE(key_bytes);
      CAPTURE(size);
      LmdbEntries entries;
      for (std::uint64_t i = 0; i < 5; ++i)
        entries[std::string(key_bytes - 1, 'k') + static_cast<char>('a' + i)] = value_of(size, i);
      CHECK(verdict(entries) == "");
    }
  }
}

TEST_CASE("lmdb page writer: values of every size around multiples of a page") {
  LmdbEntries entries;
  std::uint64_t number = 0;
  for (const std::uint64_t pages : {1U, 2U, 3U, 25U, 256U}) {
    for (std::uint64_t size = pages * kPageBytes - 20; size <= pages * kPageBytes + 4; ++size) {
      entries[fmt::format("{:08}", number)] = value_of(size, number);
      ++number;
    }
  }
  CHECK(verdict(entries) == "");
}

TEST_CASE("lmdb page writer: keys of 511 bytes make a deep tree") {
  LmdbEntries entries;
  for (std::uint64_t i = 0; i < 5000; ++i)
    entries[std::string(503, 'k') + fmt::format("{:08}", i)] = value_of(i % 40, i);
  const TempDir dir;

  CHECK(write_pages(dir / "a", entries).foretold.depth >= 5);
  CHECK(verdict(entries) == "");
}

TEST_CASE("lmdb page writer: keys and values of random sizes" * doctest::test_suite("slow")) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::uint64_t longest_key = seed % 3 == 0 ? 511 : 1 + random() % 40,
                        largest = seed % 2 == 0 ? 60 : 7000;
    LmdbEntries entries;
    for (int i = 0; i < 1500; ++i) {
      std::string key(1 + random() % longest_key, '\0');
      for (char& c : key) c = static_cast<char>(random());
      entries[key] = value_of(random() % (largest + 1), random());
    }
    CHECK(verdict(entries) == "");
  }
}

TEST_CASE("lmdb page writer: one value of 1 GiB" * doctest::test_suite("slow")) {
  const TempDir dir;
  if (std::filesystem::space(dir.path()).available < (std::uint64_t{2} << 30)) {
    MESSAGE("skipped: there is no room for 1 GiB in ", dir.path());
    return;
  }
  const std::string mebibyte = value_of(1 << 20, 7);
  Blob large, small;
  for (int i = 0; i < 1024; ++i) large.append_view(as_bytes(mebibyte));
  small.append_view(as_bytes(mebibyte).first(10));
  std::vector<std::uint64_t> offsets;
  {
    OutputFile file(dir / "a", {});
    lmdb::LmdbPageWriter writer(file);
    offsets = {writer.add(as_bytes("large"), large).front()};
    CHECK(writer.add(as_bytes("small"), small).empty());
    offsets.push_back(writer.close().front());
    (void)file.finish();
  }

  std::vector<std::uint64_t> sizes;
  std::uint64_t faults = 0;
  LmdbJudge(dir / "a").walk([&](std::string_view, std::string_view value) {
    sizes.push_back(value.size());
    for (std::uint64_t at = 0; at < value.size(); at += mebibyte.size()) {
      const std::string_view part = value.substr(at, mebibyte.size());
      faults += part != std::string_view(mebibyte).substr(0, part.size());
    }
  });

  CHECK(sizes == std::vector<std::uint64_t>{1 << 30, 10});
  CHECK(faults == 0);
  CHECK(offsets[0] == 2 * kPageBytes + lmdb::kPageHeaderBytes);
  CHECK(offsets[1] > offsets[0] + (1 << 30));
}

// What a person may do with a file that we wrote: the pages must bear it.
void change_and_compare(const std::string& path, LmdbEntries entries, unsigned seed) {
  std::mt19937_64 random(seed);
  LmdbJudge judge(path, LmdbJudge::Mode::write);
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    LmdbEntries added = {{fmt::format(" front {}", round), value_of(100, 1)},
                         {fmt::format("~ end {}", round), value_of(9000, 2)}};
    std::vector<std::string> erased;
    for (const auto& [key, value] : entries) {
      const std::uint64_t lot = random() % 10;
      if (lot < 3) erased.push_back(key);
      if (lot == 3) added[key.substr(0, 500) + " middle"] = value_of(random() % 5000, lot);
      if (lot == 4) added[key] = value_of(random() % 3000, lot);  // another value
    }
    judge.put(added);
    for (const auto& [key, value] : added) entries[key] = value;
    judge.erase(erased);
    for (const std::string& key : erased) entries.erase(key);
    CHECK(test::difference(judge, entries) == "");
  }
  judge.copy_compact(path + "-copy");
  CHECK(test::difference(LmdbJudge(path + "-copy"), entries) == "");
  std::vector<std::string> all;
  for (const auto& [key, value] : entries) all.push_back(key);
  judge.erase(all);
  CHECK(judge.statistics().entries == 0);
}

TEST_CASE("lmdb page writer: liblmdb writes to the file afterwards, and nothing is lost") {
  const TempDir dir;
  LmdbEntries long_keys;
  for (std::uint64_t i = 0; i < 1200; ++i)
    long_keys[std::string(503, 'k') + fmt::format("{:08}", i)] = value_of(i % 40, i);
  const LmdbEntries sets[] = {
      {},
      entries_of(1, 10),
      entries_of(2, 2022),
      entries_of(121, 16),
      entries_of(455, 2022),  // a branch page of two nodes
      entries_of(300, 5000),
      entries_of(20'000, 30),
      long_keys,
  };
  for (unsigned i = 0; i < std::size(sets); ++i) {
    CAPTURE(i);
    const std::string path = dir / fmt::format("{}", i);
    (void)write_pages(path, sets[i]);
    change_and_compare(path, sets[i], i);
  }
}

TEST_CASE("lmdb page writer: every shape of the last pages bears deletions") {
  // Trees whose last leaf and branch pages hold few nodes, emptied from the end.
  const TempDir dir;
  for (std::uint64_t count = 1; count < 140; ++count) {
    CAPTURE(count);
    LmdbEntries entries;
    for (std::uint64_t i = 0; i < count; ++i)
      entries[std::string(503, 'k') + fmt::format("{:08}", i)] = "v";
    const std::string path = dir / fmt::format("{}", count);
    (void)write_pages(path, entries);
    LmdbJudge judge(path, LmdbJudge::Mode::write);
    while (!entries.empty()) {
      judge.erase({std::prev(entries.end())->first});
      entries.erase(std::prev(entries.end()));
      if (entries.size() % 16 == 0) CHECK(test::difference(judge, entries) == "");
    }
  }
}

TEST_CASE("lmdb page writer: any key is found by liblmdb's search") {
  const TempDir dir;
  const LmdbEntries entries = entries_of(30'000, 40);
  (void)write_pages(dir / "a", entries);
  const LmdbJudge judge(dir / "a");
  for (std::uint64_t i = 0; i < 30'000; i += 7) {
    const std::string key = fmt::format("{:08}", i);
    if (judge.get(key) != entries.at(key)) FAIL_CHECK("key ", key, " is not found");
  }
  CHECK(judge.get("00030000") == std::nullopt);
  CHECK(judge.get("0") == std::nullopt);
}

TEST_CASE("lmdb page writer: places in the open leaf are held back, and those behind them") {
  const TempDir dir;
  OutputFile file(dir / "a", {.io = IoMode::buffered});
  lmdb::LmdbPageWriter writer(file);
  const std::string large = value_of(5000, 1);
  Blob big, small;
  big.append_view(as_bytes(large));
  small.append_view(as_bytes(large).first(2000));

  CHECK(writer.add(as_bytes("a"), big).size() == 1);
  CHECK(writer.add(as_bytes("b"), small).size() == 0);
  CHECK(writer.add(as_bytes("c"), big).size() == 0);
  CHECK(writer.add(as_bytes("d"), small).size() == 0);
  CHECK(writer.add(as_bytes("e"), small).size() == 3);
  CHECK(writer.close().size() == 1);
}

TEST_CASE("lmdb page writer: the same entries give the same bytes, without heap garbage") {
  const TempDir dir;
  const LmdbEntries entries = entries_of(1000, 33), odd = entries_of(300, 5001);

  CHECK(write_pages(dir / "a", entries).file.hash == write_pages(dir / "b", entries).file.hash);
  CHECK(write_pages(dir / "c", odd).file.hash == write_pages(dir / "d", odd).file.hash);
  // A leaf of one entry: behind the offsets and in front of the node all is zero.
  (void)write_pages(dir / "e", {{"k", "v"}});
  const std::string page = test::read_text(dir / "e").substr(2 * kPageBytes);
  CHECK(page.substr(18, kPageBytes - 18 - 10) == std::string(kPageBytes - 28, '\0'));
}

TEST_CASE("lmdb page writer: the file is not sparse, and no lock file is left") {
  const TempDir dir;
  const WrittenPages written = write_pages(dir / "a", entries_of(300, 5000));
  struct stat status {};
  REQUIRE(::stat((dir / "a").c_str(), &status) == 0);

  CHECK(static_cast<std::uint64_t>(status.st_blocks) * 512 >= written.file.bytes);
  CHECK(test::files_in(dir.path()) == std::vector<std::string>{"a"});
}

TEST_CASE("lmdb page writer: the map is as large as the file, and 1 MiB or more") {
  const TempDir dir;
  const std::uint64_t bytes = write_pages(dir / "a", entries_of(1000, 5000)).file.bytes;
  (void)write_pages(dir / "b", entries_of(1, 1));

  CHECK(LmdbJudge(dir / "a").info().me_mapsize == bytes);
  CHECK(LmdbJudge(dir / "b").info().me_mapsize == 1 << 20);
}

TEST_CASE("lmdb page writer: misuse is refused") {
  const TempDir dir;
  OutputFile file(dir / "a", {.io = IoMode::buffered});
  lmdb::LmdbPageWriter writer(file);
  const auto code_of_adding = [&](std::string_view key, const Blob& value = {}) {
    return error_of([&] { (void)writer.add(as_bytes(key), value); }).code();
  };
  const std::string mebibyte(1 << 20, 'x');
  Blob too_large;
  for (int i = 0; i < 4096; ++i) too_large.append_view(as_bytes(mebibyte));

  CHECK(code_of_adding("") == Code::limit);
  CHECK(code_of_adding(std::string(512, 'k')) == Code::limit);
  CHECK(code_of_adding("k", too_large) == Code::limit);
  (void)writer.add(as_bytes("b"), {});
  CHECK(code_of_adding("a") == Code::bug);
  CHECK(code_of_adding("b") == Code::bug);
  (void)writer.add(as_bytes("\xff"), {});  // bytes are not signed
  CHECK(code_of_adding("c") == Code::bug);
  (void)writer.close();
  CHECK(code_of_adding("\xff\xff") == Code::bug);
  CHECK(error_of([&] { (void)writer.close(); }).code() == Code::bug);
}

}  // namespace
}  // namespace shale
