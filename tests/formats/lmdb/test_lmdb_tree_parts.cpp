#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "shale/io/input_file.hpp"

#include "formats/lmdb/lmdb_tree_parts.hpp"
#include "tests/formats/lmdb/lmdb_page_builder.hpp"
#include "tests/formats/lmdb/lmdb_scan_tools.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kPage = 4096, kLastPage = 136;

// All rows in parts of so many; false where they or the whole are not as shale writes them.
bool is_proved(const std::string& path, std::uint64_t rows_in_part) {
  const InputFile file(path);
  const std::shared_ptr<lmdb::TreeParts> parts = lmdb::TreeParts::open(file);
  if (parts == nullptr) return false;
  const WalkProgress no_progress;
  for (std::uint64_t begin = 0; begin < parts->entries(); begin += rows_in_part) {
    WindowReader window(file, kPage);
    WalkPace pace(no_progress, file.size());
    const std::uint64_t end = std::min(begin + rows_in_part, parts->entries());
    const bool is_sound = parts->walk({{begin, 0}, {end, 0}, window.views()}, pace,
                                      [](const lmdb::TreeEntry&) { return true; });
    if (!is_sound) return false;
  }
  return parts->is_complete();
}

TEST_CASE("lmdb tree parts: a page that belongs to nothing is not proved, nor is one too few") {
  const TempDir dir;
  const std::string path = dir / "a.lmdb";
  {
    LmdbFile file(path);
    file.change([](MDB_txn* txn, MDB_dbi dbi) {
      for (int i = 0; i < 2000; ++i)
        LmdbFile::put(txn, dbi, fmt::format("{:08}", i), std::string(i % 50 == 0 ? 9000 : 60, 'v'));
    });
  }
  std::string sound = read_text(path);
  sound.resize((get_number<std::uint64_t>(sound, kPage + kLastPage) + 1) * kPage);
  write_file(path, sound);
  CHECK(walk_lmdb(path).entries == 2000);
  for (const std::uint64_t rows : {1U, 77U, 2000U}) CHECK(is_proved(path, rows));

  std::string longer = sound + std::string(kPage, '\0');
  for (const std::uint64_t meta : {std::uint64_t{0}, kPage})
    set_number(longer, meta + kLastPage, longer.size() / kPage - 1);
  write_file(path, longer);
  CHECK_FALSE(is_proved(path, 77));

  // The tree says that it has one page more than it has.
  for (const std::uint64_t pages : {96U, 104U, 112U}) {
    CAPTURE(pages);
    std::string lying = sound;
    set_number(lying, kPage + pages, get_number<std::uint64_t>(lying, kPage + pages) + 1);
    write_file(path, lying);
    CHECK_FALSE(is_proved(path, 77));
  }
}

}  // namespace
}  // namespace shale
