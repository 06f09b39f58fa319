#include <random>

#include <doctest/doctest.h>

#include "shale/loading/extent_reading.hpp"

#include "tests/support/sizes.hpp"
#include "tests/support/temp_dir.hpp"

// Every way of reading extents against the bytes that were written. On /var/tmp, which is a disk on
// most machines: tmpfs refuses to be read past the page cache.

namespace shale {
namespace {

using test::error_of;
using test::kMebi;
using test::TempDir;
using test::write_file;

constexpr const char* kDisk = "/var/tmp";

std::string noise(std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(dice());
  return text;
}

struct PlaceInFile {
  std::size_t file;
  std::uint64_t offset, length;
};

enum class Way { one_by_one, cached, direct, past_cache };
constexpr Way kWays[] = {Way::one_by_one, Way::cached, Way::direct, Way::past_cache};

// A few files, and what their extents hold. Directly only where the file system allows it.
class Files {
 public:
  explicit Files(const std::vector<std::string>& contents) : dir_(kDisk), contents_(contents) {
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const std::string path = dir_ / ("f" + std::to_string(i));
      write_file(path, contents[i]);
      cached_.emplace_back(path);
      direct_.emplace_back(path);
      is_direct_ = direct_.back().go_direct() && is_direct_;
    }
  }

  // The bytes of each extent.
  std::vector<std::string> read(const std::vector<PlaceInFile>& places, Way way,
                                BatchReader::Backend backend = BatchReader::Backend::automatic) {
    std::vector<std::string> found;
    for (const PlaceInFile& place : places) found.emplace_back(place.length, '?');
    std::vector<Extent> extents;
    const bool is_direct = way == Way::direct && is_direct_;
    for (std::size_t i = 0; i < places.size(); ++i) {
      extents.push_back({&(is_direct ? direct_ : cached_)[places[i].file], places[i].offset,
                         std::as_writable_bytes(std::span(found[i]))});
    }
    BatchReader reader({.depth = 8, .backend = backend});
    if (is_direct) {
      read_extents_direct(extents, reader, arena_);
    } else if (way == Way::cached || way == Way::direct) {
      read_extents(extents, reader, arena_);
    } else {
      for (const Extent& extent : extents)
        way == Way::one_by_one ? read_extent(extent) : read_past_cache(extent);
    }
    return found;
  }

  [[nodiscard]] std::vector<std::string> expected(const std::vector<PlaceInFile>& places) const {
    std::vector<std::string> bytes;
    for (const PlaceInFile& place : places)
      bytes.push_back(contents_[place.file].substr(place.offset, place.length));
    return bytes;
  }
  [[nodiscard]] std::string path(std::size_t file) const { return cached_[file].path(); }

 private:
  TempDir dir_;
  std::vector<std::string> contents_;
  std::vector<InputFile> cached_, direct_;
  bool is_direct_ = true;
  AlignedBuffer arena_;
};

TEST_CASE("extents: joined, overlapping, equal, unaligned and empty ones come whole in every way") {
  Files files({noise(100'000, 1), noise(9'001, 2), noise(4'096, 3)});
  const std::vector<PlaceInFile> places = {
      {0, 0, 1},         {0, 0, 1},      {0, 1, 4'094},      {0, 4'095, 1},   {0, 4'095, 2},
      {0, 4'096, 4'096}, {0, 5'000, 0},  {0, 5'000, 30'000}, {0, 5'100, 100}, {0, 34'000, 60},
      {0, 60'000, 1},    {0, 61'439, 2}, {0, 65'536, 0},     {0, 99'999, 1},  {0, 100'000, 0},
      {1, 0, 9'001},     {1, 8'999, 2},  {1, 9'000, 1},      {2, 0, 4'096},   {2, 4'095, 1},
      {2, 4'096, 0},
  };
  for (const Way way : kWays) {
    CAPTURE(static_cast<int>(way));
    CHECK((files.read(places, way) == files.expected(places)));
    CHECK((files.read(places, way, BatchReader::Backend::threads) == files.expected(places)));
  }
}

TEST_CASE("extents: a thousand random ones come whole in every way") {
  const std::uint64_t seed = std::random_device()();
  MESSAGE("seed " << seed);
  std::mt19937_64 dice(seed);
  Files files({noise(3 * kMebi, 4), noise(5 * kMebi + 123, 5)});
  std::vector<PlaceInFile> places;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t file = dice() % 2;
    const std::uint64_t size = file == 0 ? 3 * kMebi : 5 * kMebi + 123;
    const std::uint64_t offset = dice() % size;
    places.push_back({file, offset, dice() % std::min<std::uint64_t>(200'000, size - offset + 1)});
  }
  std::sort(places.begin(), places.end(), [](const PlaceInFile& a, const PlaceInFile& b) {
    return std::pair(a.file, a.offset) < std::pair(b.file, b.offset);
  });

  for (const Way way : {Way::cached, Way::direct})
    CHECK((files.read(places, way) == files.expected(places)));
}

TEST_CASE("extents: those that are larger than the memory for direct reads come in pieces") {
  Files files({noise(40 * kMebi + 77, 6)});
  const std::vector<PlaceInFile> places = {
      {0, 3, 5'000},
      {0, 100, 16 * kMebi - 100},            // just fits
      {0, 101, 16 * kMebi},                  // just does not
      {0, 4'095, 36 * kMebi + 1},            // three pieces
      {0, 20 * kMebi, 16 * kMebi},           // all of it, aligned
      {0, 24 * kMebi + 1, 16 * kMebi + 76},  // to the last byte
      {0, 40 * kMebi, 77},
  };

  for (const Way way : {Way::cached, Way::direct})
    CHECK((files.read(places, way) == files.expected(places)));
}

TEST_CASE("extents: a file that ends too early is damaged, with its path and the extent's offset") {
  for (const Way way : kWays) {
    CAPTURE(static_cast<int>(way));
    Files files({noise(50'000, 7)});
    std::filesystem::resize_file(files.path(0), 20'480);
    const Error error = error_of([&] {
      (void)files.read({{0, 100, 10}, {0, 20'000, 481}, {0, 30'000, 1}}, way);
    });

    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == files.path(0));
    CHECK(error.offset() == 20'000);
    CHECK((files.read({{0, 20'000, 480}}, way) == files.expected({{0, 20'000, 480}})));
  }
}

TEST_CASE("extents: a large one is damaged where its missing piece begins, or before") {
  Files files({noise(40 * kMebi, 8)});
  std::filesystem::resize_file(files.path(0), 30 * kMebi);
  const Error error = error_of([&] { (void)files.read({{0, 5, 39 * kMebi}}, Way::direct); });

  CHECK(error.code() == Code::damaged);
  CHECK(error.offset() >= 5);
  CHECK(error.offset() <= 30 * kMebi);
}

TEST_CASE("extents: more small neighbours than are joined at a time come whole") {
  Files files({noise(6 * kMebi, 10)});
  std::vector<PlaceInFile> places;
  for (std::uint64_t offset = 0; offset + 7'000 < 6 * kMebi; offset += 100)
    places.push_back({0, offset, offset % 3 == 0 ? 7'000U : 31U});

  CHECK((files.read(places, Way::cached) == files.expected(places)));
}

TEST_CASE(
    "extents: neighbours in file and memory come whole, between others, up to the missing one") {
  const std::string content = noise(9 * kMebi, 11);
  Files files({content});
  const InputFile file(files.path(0));
  std::string found(content.size(), '?');
  const std::span<std::byte> memory = std::as_writable_bytes(std::span(found));
  std::vector<Extent> extents;
  const auto add = [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    extents.push_back({&file, from, memory.subspan(to, bytes)});
  };
  std::string expected = found;
  for (std::uint64_t at = 0; at < 8 * kMebi; at += 100'000) add(at, at, 100'000);
  add(8'400'000, 8'400'000, 0);
  add(8'400'000, 8'500'000, 50);  // a neighbour in the file alone
  add(8'400'050, 8'500'050, 50);  // of that one
  add(8'400'150, 8'500'100, 50);  // a neighbour in memory alone
  for (const Extent& extent : extents) {
    const auto to = static_cast<std::size_t>(extent.into.data() - memory.data());
    expected.replace(to, extent.into.size(), content, extent.offset, extent.into.size());
  }

  AlignedBuffer arena;
  BatchReader reader({.depth = 8});
  read_extents(extents, reader, arena);
  CHECK((found == expected));

  std::filesystem::resize_file(files.path(0), 3'333'333);
  const Error error = error_of([&] { read_extents(extents, reader, arena); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.offset() == 3'300'000);
}

TEST_CASE("extents: neighbours in the file go to their own places, with few bytes between them") {
  Files files({noise(12 * kMebi, 12)});
  std::vector<PlaceInFile> places;
  // Photos with their captions: 80 bytes of framing, a gap that is just small enough, one that is
  // not.
  for (std::uint64_t at = 0, i = 0; at + 200'000 < 12 * kMebi; ++i) {
    const std::uint64_t bytes = i % 5 == 4 ? 37 : 110'000 + i;
    places.push_back({0, at, bytes});
    at += bytes + (i % 7 == 6 ? 4'097 : i % 3 == 2 ? 4'096 : 80 * (i % 2));
  }
  for (std::uint64_t at = 0; at < 700'000; at += 700)
    places.push_back({0, at, at % 1400 == 0 ? 9'000U : 0});
  std::ranges::stable_sort(places, {}, &PlaceInFile::offset);

  for (const Way way : {Way::cached, Way::direct}) {
    CHECK((files.read(places, way) == files.expected(places)));
    CHECK((files.read(places, way, BatchReader::Backend::threads) == files.expected(places)));
  }
}

TEST_CASE("extents: of neighbours that are read as one, the one that does not come is named") {
  Files files({noise(2 * kMebi, 13)});
  std::filesystem::resize_file(files.path(0), 500'000);
  const Error error = error_of([&] {
    (void)files.read(
        {{0, 0, 100'000}, {0, 100'080, 200'000}, {0, 300'100, 200'000}, {0, 500'200, 10'000}},
        Way::cached);
  });

  CHECK(error.code() == Code::damaged);
  CHECK(error.offset() == 300'100);
}

TEST_CASE("extents: none at all is nothing to do") {
  Files files({noise(1, 9)});

  for (const Way way : kWays) CHECK(files.read({}, way).empty());
}

}  // namespace
}  // namespace shale
