#include <fstream>
#include <random>

#include <doctest/doctest.h>

#include "shale/io/external_sorter.hpp"

#include "child_process.hpp"
#include "support/peak_memory.hpp"
#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

std::vector<std::string> sorted_by(ExternalSorter& sorter) {
  std::vector<std::string> entries;
  while (const auto entry = sorter.next()) entries.emplace_back(*entry);
  return entries;
}

/// Strings that are hard to tell apart: common beginnings, NULs, 0xff, empty and equal ones.
std::vector<std::string> hard_strings(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> strings;
  for (std::size_t index = 0; index < count; ++index) {
    std::string text(random() % 3 == 0 ? 0 : random() % 40, "\0a\xff"[random() % 3]);
    for (std::size_t byte = random() % 20; byte > 0; --byte) text += "\0a\xff"[random() % 3];
    strings.push_back(std::move(text));
  }
  return strings;
}

}  // namespace

TEST_CASE(
    "external sorter: gives what std::sort gives, in memory and spilled, and again after rewind") {
  TempDir dir;
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  for (const std::size_t count : {0UL, 1UL, 2000UL, 300'000UL}) {
    for (const std::uint64_t memory : {kMebibyte, 9 * kMebibyte}) {  // by one thread, by several
      CAPTURE(count);
      std::vector<std::string> strings = hard_strings(count, seed);
      ExternalSorter sorter(dir.path(), memory);
      for (const std::string& text : strings) sorter.add(text);
      sorter.finish();
      std::sort(strings.begin(), strings.end());

      CHECK(sorter.count() == count);
      CHECK((sorted_by(sorter) == strings));
      sorter.rewind();
      if (count > 0) CHECK(*sorter.next() == strings[0]);
      sorter.rewind();
      CHECK((sorted_by(sorter) == strings));
      CHECK(!sorter.next());
    }
  }
}

TEST_CASE(
    "external sorter: what is sorted, and what is sorted but for its last, comes as it should") {
  TempDir dir;
  std::vector<std::string> strings = hard_strings(300'000, 1);
  std::sort(strings.begin(), strings.end());
  for (const bool is_sorted : {true, false}) {
    if (!is_sorted) strings.emplace_back();
    ExternalSorter sorter(dir.path(), kMebibyte);
    for (const std::string& text : strings) sorter.add(text);
    sorter.finish();
    if (!is_sorted) std::rotate(strings.begin(), strings.end() - 1, strings.end());
    CHECK((sorted_by(sorter) == strings));
  }
}

TEST_CASE("external sorter: the longest entries it takes are merged within the least memory") {
  TempDir dir;
  std::vector<std::string> strings;
  for (int index = 0; index < 200; ++index) {
    strings.push_back(std::string(kMebibyte / 16 - 3, 'x') + std::to_string(999 - index));
  }
  ExternalSorter sorter(dir.path(), kMebibyte);
  for (const std::string& text : strings) sorter.add(text);
  sorter.finish();
  std::sort(strings.begin(), strings.end());

  CHECK((sorted_by(sorter) == strings));
}

TEST_CASE(
    "external sorter: an entry that is too long for the memory is refused with both numbers") {
  ExternalSorter small("/no/such/folder", kMebibyte);
  ExternalSorter large("/no/such/folder", 64 * kMebibyte);
  const Error error = error_of([&] { small.add(std::string(65'537, 'x')); });

  CHECK(error.code() == Code::limit);
  CHECK(error.message() ==
        "cannot sort an entry of 65537 bytes; this memory budget allows at most 65536");
  CHECK_NOTHROW(large.add(std::string(kMebibyte, 'x')));
  CHECK(error_of([&] { large.add(std::string(kMebibyte + 1, 'x')); }).code() == Code::limit);
}

TEST_CASE("external sorter: what fits in memory never touches the folder, what does not needs it") {
  ExternalSorter sorter("/no/such/folder", kMebibyte);
  for (int index = 0; index < 10'000; ++index) sorter.add("0123456789");
  const Error error = error_of([&] {
    for (int index = 0; index < 90'000; ++index) sorter.add("0123456789");
  });

  CHECK(error.code() == Code::io);
  CHECK(error.file() == "/no/such/folder");
}

TEST_CASE("external sorter: spilling leaves no names in the folder, not even while it runs") {
  TempDir dir;
  ExternalSorter sorter(dir.path(), kMebibyte);
  for (int index = 0; index < 100'000; ++index) sorter.add("0123456789");
  CHECK(files_in(dir.path()).empty());
  sorter.finish();
  CHECK(sorter.next() == "0123456789");
  CHECK(files_in(dir.path()).empty());
}

TEST_CASE("external sorter: memory stays within what was given, however much is sorted") {
  TempDir dir;
  const std::string text = text_from_child([&] {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins here
    const std::uint64_t before = peak_kib();
    ExternalSorter sorter(dir.path(), 4 * kMebibyte);
    std::string entry = "a path of usual length with a number behind it ........";
    for (std::uint64_t index = 0; index < 500'000; ++index) {
      std::memcpy(entry.data() + entry.size() - 8, &index, 8);
      sorter.add(entry);
    }
    sorter.finish();
    std::uint64_t count = 0;
    while (sorter.next()) ++count;
    return fmt::format("{} {}", count, peak_kib() - before <= 5 * 1024 ? "within" : "beyond");
  });
  CHECK(text == "500000 within");
}

TEST_CASE("external sorter: a full disk stops it with the size and the cause") {
  TempDir dir;
  const std::string text = text_from_child([&] {
    limit_file_size(100'000);
    ExternalSorter sorter(dir.path(), kMebibyte);
    return std::string(error_of([&] {
                         for (int index = 0; index < 300'000; ++index) sorter.add("0123456789");
                       }).what());
  });
  CHECK(text.find("(scratch): byte 100000: ") != std::string::npos);
  CHECK(text.find("File too large") != std::string::npos);
}

TEST_CASE("external sorter: its calls in the wrong order are bugs") {
  ExternalSorter sorter("/no/such/folder", kMebibyte);
  CHECK(error_of([&] { (void)sorter.next(); }).code() == Code::bug);
  CHECK(error_of([&] { sorter.rewind(); }).code() == Code::bug);
  sorter.finish();
  CHECK(error_of([&] { sorter.add("x"); }).code() == Code::bug);
}
