#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/folders/folder_source.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/sources/drawn_source.hpp"
#include "shale/sources/source_over.hpp"

#include "tests/unit/sources/array_files.hpp"

namespace shale {
namespace {

using namespace test;

std::unique_ptr<Source> open_images(const TempDir& dir, bool is_shuffled) {
  FolderRequest request;
  request.root = dir / "in";
  request.scratch_folder = dir.path();
  std::unique_ptr<OrderableSource> source = open_folder(request);
  if (is_shuffled) source->put_in_order({.seed = 0});
  return source;
}

std::vector<std::string> keys_of(Source& source) {
  std::vector<std::string> keys;
  while (const auto sample = source.next(1)) keys.push_back(sample->key);
  return keys;
}

TEST_CASE("part source: the parts one after the other are the source, shuffled or not") {
  const TempDir dir;
  for (const char* name : {"in/a", "in/b"}) std::filesystem::create_directories(dir / name);
  for (const char* name : {"a/1.jpg", "a/2.jpg", "a/3.jpg", "b/4.jpg", "b/5.jpg"})
    write_file(dir / "in" + "/" + name, name);
  for (const bool is_shuffled : {false, true}) {
    const std::vector<std::string> all = keys_of(*open_images(dir, is_shuffled));
    for (const std::uint64_t count : {1U, 2U, 3U, 5U, 9U}) {
      CAPTURE(count);
      std::vector<std::string> joined;
      for (std::uint64_t index = 0; index < count; ++index) {
        const auto part = make_part_source(open_images(dir, is_shuffled), {index, count});
        const std::vector<std::string> keys = keys_of(*part);
        CHECK(keys.size() == (index + 1) * 5 / count - index * 5 / count);
        CHECK(part->info().manifest.samples == keys.size());
        CHECK(part->info().part->samples == 5);
        joined.insert(joined.end(), keys.begin(), keys.end());
      }
      CHECK(joined == all);
    }
  }
}

TEST_CASE("part source: what is not a sample belongs to the first part") {
  const TempDir dir;
  std::filesystem::create_directories(dir / "in/a");
  for (const char* name : {"in/a/1.jpg", "in/a/2.jpg", "in/a/note.txt"})
    write_file(dir / name, "x");
  for (const std::uint64_t index : {0U, 1U}) {
    const auto part = make_part_source(open_images(dir, false), {index, 2});
    std::uint64_t listed = 0;
    part->list_ignored([&](std::string_view, std::string_view) { ++listed; });
    CHECK(listed == (index == 0 ? 1 : 0));
    CHECK(part->info().ignored == listed);
  }
}

// The numbers of its rows, in runs of at most two, after so many were passed over.
std::vector<std::uint64_t> numbers_of(Source& source, std::uint64_t passed_over) {
  source.skip(passed_over);
  std::vector<std::uint64_t> numbers;
  while (const auto run = source.next(2)) {
    for (std::uint64_t i = 0; i < run->rows; ++i) numbers.push_back(run->first_number + i);
  }
  return numbers;
}

TEST_CASE("part source: rows of arrays have the numbers that they have in the whole") {
  const ArrayFolder folder;
  const Events events;
  for (const std::vector<std::string>& words : kWays) {
    CAPTURE(words[0]);
    const auto part = make_part_source(open_array_source(folder.request(words), events), {1, 3});
    CHECK(numbers_of(*part, 1) == std::vector<std::uint64_t>{3, 4});
    CHECK(part->info().manifest.bytes == 3 * *part->info().row_bytes);
  }
}

TEST_CASE("part source: rows that are drawn come as in the whole draw") {
  const ArrayFolder folder;
  const Events events;
  const auto open = [&] {
    return make_drawn_source(
        table_of_arrays(folder.request({"x=plain.npy"})),
        {.mode = DrawMode::permute, .rows = std::nullopt, .seed = 3, .file = {}},
        {.jobs = 1, .memory_bytes = 8 << 20, .scratch_folder = folder.dir.path()}, events);
  };
  const auto rows_of = [](Source& source) {
    std::string rows;
    while (const auto run = source.next(3)) rows += as_text(*run->columns[0]);
    return rows;
  };
  std::string joined;
  for (const std::uint64_t index : {0U, 1U, 2U})
    joined += rows_of(*make_part_source(open(), {index, 3}));
  CHECK(joined == rows_of(*open()));
  CHECK(numbers_of(*make_part_source(open(), {2, 3}), 1) == std::vector<std::uint64_t>{6, 7});
}

}  // namespace
}  // namespace shale
