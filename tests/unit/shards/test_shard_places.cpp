#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/shards/shard_places.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

ManifestShard shard_x() {
  ManifestShard shard;
  shard.name = "x";
  return shard;
}

// One field, "image", in part 1; the key in part 0.
struct Indexed {
  Indexed() {
    layout.file_suffixes = {".bin"};
    layout.part_file = {0, 0};
    layout.field_part = {1};
  }
  [[nodiscard]] ShardPlaces places() const {
    return {layout, "toy", IndexWriter(OutputFile(dir / "x.index.npy", {}), columns())};
  }
  [[nodiscard]] IndexColumns columns() const { return {schema, layout}; }
  // What the finished index says of row 0.
  [[nodiscard]] IndexRow first_row(std::uint64_t rows) const {
    const InputFile file(dir / "x.index.npy");
    return IndexReader(file, columns(), rows).row(0);
  }

  TempDir dir;
  Schema schema{.fields = {{.name = "image"}}};
  ShardLayout layout;
  ManifestShard shard = shard_x();
};

// A row whose key has 2 bytes and whose image 7, both at the begin of their part.
IndexRow relative_row() {
  IndexRow row;
  row.key = {.offset = 0, .length = 2};
  row.cells = {{.place = {.offset = 0, .length = 7}}};
  return row;
}

TEST_CASE("shard places: rows are moved to where their parts lie, late ones in their order") {
  Indexed of;
  ShardPlaces places = of.places();
  places.add(relative_row());
  places.add(relative_row());

  places.place(std::vector<std::uint64_t>{100, 200});
  places.finish({.late_offsets = {300, 400}, .part_bases = {}}, of.shard);

  CHECK(of.shard.index.name == "x.index.npy");
  CHECK(of.first_row(2).key.offset == 100);
  CHECK(of.first_row(2).cells[0].place.offset == 200);
}

TEST_CASE("shard places: bases that are known at the end are added to what was placed") {
  Indexed of;
  ShardPlaces places = of.places();
  places.add(relative_row());

  places.place(std::vector<std::uint64_t>{10, 20});
  places.finish({.late_offsets = {}, .part_bases = {1000, 2000}}, of.shard);

  CHECK(of.first_row(1).key.offset == 1010);
  CHECK(of.first_row(1).cells[0].place.offset == 2020);
}

TEST_CASE("shard places: a row without a place and a place without a row are bugs of the format") {
  Indexed of, other;
  ShardPlaces missing = of.places();
  missing.add(relative_row());
  CHECK(error_of([&] { missing.finish({}, of.shard); }).code() == Code::bug);

  ShardPlaces odd = other.places();
  CHECK(error_of([&] { odd.place(std::vector<std::uint64_t>{1, 2}); }).code() == Code::bug);
}

TEST_CASE("shard places: without an index the shard says where each field begins") {
  ShardLayout layout;
  layout.part_file = {0, 1};
  layout.field_part = {1, 0};
  layout.rows = RowStorage::columns();
  ShardPlaces places(layout, "toy", std::nullopt);
  ManifestShard shard = shard_x();

  places.add({});
  places.finish({.late_offsets = {}, .part_bases = {128, 64}}, shard);

  CHECK(shard.bases == std::vector<std::uint64_t>{64, 128});
  CHECK(shard.index.name.empty());
}

}  // namespace
}  // namespace shale
