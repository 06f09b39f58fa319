#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "formats/hdf5/foreign/hdf5_probe.hpp"
#include "tests/formats/hdf5/foreign_files.hpp"

namespace shale {
namespace {

using test::error_of;
using test::TempDir;

TEST_CASE("hdf5 probe: what is no HDF5 file is damage, with the library's reason") {
  const TempDir dir;
  test::write_file(dir / "a.h5", "no HDF5 at all");
  const Error error = error_of([&] { (void)probe_hdf5_file(InputFile(dir / "a.h5")); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "the HDF5 library cannot open this file");
  CHECK(error.cause().find("file signature not found") != std::string::npos);
}

TEST_CASE("hdf5 probe: chunks that follow one another are one run") {
  const TempDir dir;
  test::ForeignFile(dir / "a.h5").chunked({1, 4}).count("x", H5T_STD_I64LE, {100, 4});
  const Hdf5Description all = probe_hdf5_file(InputFile(dir / "a.h5"));
  REQUIRE(all.datasets.size() == 1);
  CHECK(all.datasets[0].runs.size() < 10);
  CHECK(all.datasets[0].runs[0].count > 10);
}

// A description that a corrupt child might send.
Hdf5Dataset plain_dataset() {
  Hdf5Dataset dataset;
  dataset.name = "x";
  dataset.type = Hdf5Type::number;
  dataset.descr = "<i4";
  dataset.element_bytes = 4;
  dataset.has_shape = true;
  dataset.shape = {10, 2};
  dataset.storage = Hdf5Storage::chunked;
  dataset.chunk = {5, 2};
  return dataset;
}

Error description_error(const Hdf5Dataset& dataset, const std::vector<Hdf5ChunkAt>& chunks) {
  return error_of([&] {
    Hdf5DescriptionReader reader(1000);
    reader.take(encode_facts({}));
    reader.take(encode_dataset(dataset));
    reader.take(encode_chunks(chunks));
    (void)reader.finish();
    throw Error(Code::bug, "nothing was refused");
  });
}

TEST_CASE("hdf5 description: chunks outside of the file, twice or beyond the rows are damage") {
  using Chunks = std::vector<Hdf5ChunkAt>;
  for (const Chunks& chunks : {Chunks{{0, 961}}, Chunks{{0, ~std::uint64_t{0}}}, Chunks{{2, 0}},
                               Chunks{{1, 0}, {1, 40}}, Chunks{{1, 0}, {0, 40}}})
    CHECK(description_error(plain_dataset(), chunks).code() == Code::damaged);
  CHECK(description_error(plain_dataset(), {{0, 960}, {1, 0}}).code() == Code::bug);
}

TEST_CASE("hdf5 description: datasets that contradict themselves are damage") {
  const std::vector<void (*)(Hdf5Dataset&)> changes = {
      [](Hdf5Dataset& x) { x.element_bytes = 5; },
      [](Hdf5Dataset& x) { x.element_bytes = 0; },
      [](Hdf5Dataset& x) { x.descr = "<i3"; },
      [](Hdf5Dataset& x) { x.type = Hdf5Type::vlen_bytes; },
      [](Hdf5Dataset& x) { x.type = static_cast<Hdf5Type>(9); },
      [](Hdf5Dataset& x) { x.storage = static_cast<Hdf5Storage>(9); },
      [](Hdf5Dataset& x) { x.has_shape = false; },
      [](Hdf5Dataset& x) {
        x.chunk = {0, 2};
      },
      [](Hdf5Dataset& x) { x.chunk = {5}; },
      [](Hdf5Dataset& x) { x.chunk.clear(); },
      [](Hdf5Dataset& x) { x.shape.assign(40, 1); },
      [](Hdf5Dataset& x) {
        x.shape = {0, 2};
      },
      [](Hdf5Dataset& x) { x.filters.assign(40, "f"); },
  };
  for (const auto change : changes) {
    Hdf5Dataset dataset = plain_dataset();
    change(dataset);
    CHECK(description_error(dataset, {{0, 0}}).code() == Code::damaged);
  }
  Hdf5Dataset huge = plain_dataset();
  huge.shape = {10, std::uint64_t{1} << 62};
  huge.chunk = {5, std::uint64_t{1} << 62};
  CHECK(description_error(huge, {{0, 0}}).code() == Code::limit);
}

}  // namespace
}  // namespace shale
