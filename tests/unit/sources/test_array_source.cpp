#include <vector>

#include <doctest/doctest.h>

#include "shale/encoding/sample_loader.hpp"

#include "tests/unit/sources/array_files.hpp"

namespace shale {
namespace {

using namespace test;

// The first column as a conversion reads it, in runs of at most so many rows.
std::string column_of(Source& source, std::uint64_t most_rows) {
  BatchReader reader(BatchReader::Options{});
  std::string column;
  while (std::optional<PendingSample> run = source.next(most_rows)) {
    CHECK(run->rows <= most_rows);
    Batch batch;
    batch.bytes = run->bytes;
    batch.pending.push_back(std::move(*run));
    column += as_text(load_runs(batch, source.info(), reader)[0][0]);
  }
  return column;
}

TEST_CASE("array source: rows come in C order and little-endian, however they lie and are taken") {
  const ArrayFolder folder;
  const Events events;
  for (const std::vector<std::string>& words : kWays) {
    for (const std::uint64_t most : {1U, 3U, 100U}) {
      CAPTURE(words[0]);
      CAPTURE(most);
      const auto source = open_array_source(folder.request(words), events);
      CHECK(column_of(*source, most) == folder.rows);
      CHECK(source->info().notes.size() ==
            (words[0] == "x=big.npy" || words[0] == "x=fortran.npy"));
    }
  }
}

TEST_CASE("array source: a run ends where the first file of its columns does") {
  const ArrayFolder folder;
  const Events events;
  const auto source =
      open_array_source(folder.request({"x=part1.npy", "x=part2.npy", "y=bytes.npy"}), events);
  std::vector<std::uint64_t> firsts, counts;
  while (const auto run = source->next(4)) {
    firsts.push_back(run->first_number);
    counts.push_back(run->rows);
    CHECK(run->bytes == run->rows * 5);
  }
  CHECK(firsts == std::vector<std::uint64_t>{0, 3, 7});
  CHECK(counts == std::vector<std::uint64_t>{3, 4, 1});
}

TEST_CASE("array source: each file of a column begins a run") {
  const ArrayFolder folder;
  const Events events;
  const auto source =
      open_array_source(folder.request({"x=part1.npy", "x=part1.npy", "x=part2.npy"}), events);
  std::vector<std::uint64_t> counts;
  while (const auto run = source->next(100)) counts.push_back(run->rows);
  CHECK(counts == std::vector<std::uint64_t>{3, 3, 5});
}

TEST_CASE("array source: columns are fields, rows are samples without keys") {
  const ArrayFolder folder;
  const Events events;
  const auto source = open_array_source(folder.request({"x=plain.npy", "y=bytes.npy"}), events);
  const SourceInfo& info = source->info();
  REQUIRE(info.schema.fields.size() == 2);
  CHECK(info.schema.fields[0].kind == Kind::tensor);
  CHECK(info.schema.fields[0].shape == std::vector<std::uint64_t>{2});
  CHECK(info.schema.fields[1].kind == Kind::integer);
  CHECK_FALSE(info.schema.has_keys);
  CHECK(info.row_bytes == 5);
  CHECK(info.manifest.samples == 8);
  CHECK(info.manifest.bytes == 40);
}

TEST_CASE("array source: the fingerprint is that of content, type and order, not of the path") {
  const ArrayFolder folder;
  const Events events;
  const auto fingerprint = [&](const std::vector<std::string>& words) {
    return open_array_source(folder.request(words), events)->info().manifest.fingerprint;
  };
  const Hash128 was = fingerprint({"x=plain.npy"});
  write_file(folder.dir / "copy.npy", read_text(folder.dir / "plain.npy"));
  CHECK(fingerprint({"x=copy.npy"}) == was);
  CHECK(fingerprint({"z=plain.npy"}) != was);
  CHECK(fingerprint({"x=big.npy"}) != was);
  CHECK(fingerprint({"x=fortran.npy"}) != was);
  std::string changed = folder.rows;
  changed[5] ^= 1;
  write_file(folder.dir / "copy.npy", npy_text("<u2", {8, 2}, changed));
  CHECK(fingerprint({"x=copy.npy"}) != was);
}

TEST_CASE("array source: no rows are no samples, and a name of the index is refused") {
  const ArrayFolder folder;
  const Events events;
  CHECK_FALSE(open_array_source(folder.request({"x=none.npy"}), events)->next(10).has_value());
  const Error error =
      error_of([&] { (void)open_array_source(folder.request({"key=plain.npy"}), events); });
  CHECK(error.code() == Code::schema);
}

}  // namespace
}  // namespace shale
