#include <algorithm>
#include <cstring>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/formats/lmdb/lmdb_judge.hpp"

// The bytes of the pages themselves: what liblmdb does not look at when it reads, and what it
// writes.

namespace shale {
namespace {

using lmdb::kPageBytes;
using test::LmdbEntries;
using test::TempDir;

std::uint64_t number_at(std::string_view bytes, std::uint64_t offset, std::uint64_t width) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, width);
  return value;
}

bool is_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

// What is wrong with a leaf or branch page, as a sentence.
std::string fault_of_node_page(std::string_view page, bool is_branch) {
  const std::uint64_t lower = number_at(page, 12, 2), upper = number_at(page, 14, 2);
  if (lower > upper || upper > kPageBytes) return "lower and upper";
  if (!is_zero(page.substr(lower, upper - lower))) return "room in the middle is not zero";
  const std::uint64_t nodes = (lower - lmdb::kPageHeaderBytes) / lmdb::kPointerBytes;
  if (nodes < (is_branch ? 2 : 1)) return "too few nodes";
  std::uint64_t end = kPageBytes;  // nodes lie one below the other, without gaps
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const std::uint64_t at = number_at(page, lmdb::kPageHeaderBytes + 2 * i, 2);
    if (at % 2 != 0 || at < upper || at >= end) return "offset of a node";
    const std::uint64_t key = number_at(page, at + 6, 2), flags = number_at(page, at + 4, 2);
    if (is_branch ? (i == 0) != (key == 0) : flags > lmdb::kBigData) return "key or flags";
    const std::uint64_t inside = is_branch                 ? 0
                                 : flags == lmdb::kBigData ? 8
                                                           : number_at(page, at, 4);
    const std::uint64_t used = lmdb::kNodeHeaderBytes + key + inside;
    if (at + lmdb::even(used) != end) return "gap between nodes";
    if (!is_zero(page.substr(at + used, end - at - used))) return "odd byte is not zero";
    end = at;
  }
  return end == upper ? "" : "upper is not the last node";
}

// Walks the pages as they lie in the file: each has its number, is of one kind, and zero where
// nothing is stored.
std::string fault_of_pages(std::string_view file) {
  for (std::uint64_t number = 2; number < file.size() / kPageBytes;) {
    const std::string_view page = file.substr(number * kPageBytes);
    if (number_at(page, 0, 8) != number || number_at(page, 8, 2) != 0) return "number or pad";
    const std::uint64_t flags = number_at(page, 10, 2);
    if (flags == lmdb::kOverflowPage) {
      number += number_at(page, 12, 4);
      continue;
    }
    if (flags != lmdb::kLeafPage && flags != lmdb::kBranchPage) return "flags";
    std::string fault = fault_of_node_page(page.substr(0, kPageBytes), flags == lmdb::kBranchPage);
    if (!fault.empty()) return fmt::format("page {}: {}", number, fault);
    ++number;
  }
  return "";
}

std::string file_of(const LmdbEntries& entries) {
  const TempDir dir;
  (void)test::write_pages(dir / "a", entries);
  return test::read_text(dir / "a");
}

TEST_CASE("lmdb page bytes: every page is well-formed, and zero where nothing is stored") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::uint64_t longest_key = seed % 2 == 0 ? 511 : 12, count = random() % 5000;
    LmdbEntries entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string key = fmt::format("{:08}", i) + std::string(random() % (longest_key - 7), 'k');
      entries[std::move(key)] = std::string(random() % (seed % 4 == 0 ? 3000 : 50), 'v');
    }
    CHECK(fault_of_pages(file_of(entries)) == "");
  }
}

TEST_CASE("lmdb page bytes: the tail of an overflow page is zero") {
  for (const std::uint64_t size : {2040U, 4079U, 4080U, 4081U, 8175U, 8176U, 8177U}) {
    CAPTURE(size);
    const std::string file = file_of({{"key", std::string(size, 'v')}});
    const std::uint64_t end = 2 * kPageBytes + lmdb::kPageHeaderBytes + size;
    const std::uint64_t pages = lmdb::overflow_pages(size, kPageBytes);
    CHECK(file.size() == (3 + pages) * kPageBytes);
    CHECK(is_zero(std::string_view(file).substr(end, (2 + pages) * kPageBytes - end)));
  }
}

TEST_CASE(
    "lmdb page bytes: a file of one leaf is liblmdb's, byte for byte, but for its own facts") {
  for (const std::uint64_t count : {1U, 2U, 7U, 119U, 120U}) {
    CAPTURE(count);
    LmdbEntries entries;
    for (std::uint64_t i = 0; i < count; ++i) entries[fmt::format("{:08}", i)] = "0123456789abcdef";
    const TempDir dir;
    test::write_by_liblmdb(dir / "theirs", entries);
    std::string theirs = test::read_text(dir / "theirs"), ours = file_of(entries);

    // Meta page 0 is of the transaction before; the one that counts is 1.
    std::string_view our_meta = std::string_view(ours).substr(kPageBytes, kPageBytes);
    std::string their_meta = theirs.substr(kPageBytes, kPageBytes);
    their_meta.replace(32, 8, our_meta.substr(32, 8));  // the size of the map
    their_meta[45] = '\0';                              // 0x4000: MDB_NOSUBDIR of the environment
    CHECK(their_meta == our_meta);
    CHECK(theirs.substr(2 * kPageBytes) == ours.substr(2 * kPageBytes));
  }
}

TEST_CASE("lmdb page bytes: the meta pages differ in number and transaction alone") {
  const std::string file = file_of({{"a", "1"}, {"b", "2"}});
  std::string first = file.substr(0, kPageBytes), second = file.substr(kPageBytes, kPageBytes);

  CHECK(number_at(first, 0, 8) == 0);
  CHECK(number_at(second, 0, 8) == 1);
  CHECK(number_at(first, 144, 8) == 0);
  CHECK(number_at(second, 144, 8) == 1);
  second[0] = second[144] = '\0';
  CHECK(first == second);
}

}  // namespace
}  // namespace shale
