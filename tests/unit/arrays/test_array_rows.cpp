#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/arrays/array_rows.hpp"
#include "shale/data/array_text.hpp"

#include "tests/support/npy_numbers.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/zip_builder.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kMemory = 16 << 20;

// Six rows "ab", "cd", ... of two bytes, in C order, in Fortran order and in an archive.
struct Letters {
  Letters() {
    write_file(dir / "c.npy", npy_text("|u1", {6, 2}, "abcdefghijkl"));
    write_file(dir / "fortran.npy", npy_text("|u1", {6, 2}, "acegikbdfhjl", true));
    write_file(dir / "big.npy", npy_text(">u2", {6}, "abcdefghijkl"));
    write_file(dir / "member.npz",
               zip_of({{.name = "x.npy", .data = npy_text("|u1", {6, 2}, "abcdefghijkl")}}));
  }
  [[nodiscard]] ArrayRows rows(std::string_view name) const {
    return {std::move(open_arrays(dir / name).arrays.front()), 2, dir.path()};
  }
  TempDir dir;
};

TEST_CASE("array rows: rows in C order are places in the file, and take neither memory nor disk") {
  const Letters letters;
  ArrayRows rows = letters.rows("c.npy");
  PendingSample run;
  rows.take(2, 3, kMemory, run, {});

  CHECK(run.bytes == 6);
  CHECK(run.columns[0] == nullptr);
  const std::string file = read_text(letters.dir / "c.npy");
  CHECK(file.substr(run.cells[0].place.offset, run.cells[0].place.length) == "efghij");
  CHECK(rows.scratch_need(kMemory).most == 0);
  CHECK(rows.notes(kMemory).empty());
}

TEST_CASE("array rows: other rows are read from the first on, and again after the last") {
  const Letters letters;
  for (const std::string_view name : {"fortran.npy", "member.npz"}) {
    CAPTURE(name);
    ArrayRows rows = letters.rows(name);
    CHECK(rows.rows() == 6);
    CHECK(rows.scratch_need(kMemory).kept == 12);
    for (int pass = 0; pass < 2; ++pass) {
      std::string all;
      for (const auto& [row, count] : {std::pair{0U, 1U}, {1U, 4U}, {5U, 1U}}) {
        PendingSample run;
        rows.take(row, count, kMemory, run, {});
        all += as_text(*run.columns.at(0));
      }
      CHECK(all == "abcdefghijkl");
    }
  }
}

TEST_CASE("array rows: located rows lie in the file itself, others in one without a name") {
  const Letters letters;
  for (const std::string_view name : {"c.npy", "fortran.npy", "member.npz"}) {
    CAPTURE(name);
    const LocatedRows::Segment segment = letters.rows(name).locate(kMemory, {});
    const auto file = segment.file ? segment.file : std::make_shared<const InputFile>(segment.path);
    std::string found(12, '?');
    file->read_exact(segment.offset, std::as_writable_bytes(std::span(found)));
    CHECK(segment.path.empty() == (name != "c.npy"));
    CHECK(segment.rows == 6);
    CHECK(found == "abcdefghijkl");
  }
  CHECK(files_in(letters.dir.path()).size() == 4);
}

TEST_CASE("array rows: both orders are one where one axis at most is longer than 1") {
  const TempDir dir;
  const std::vector<std::vector<std::uint64_t>> shapes = {{6},       {6, 1},    {1, 6}, {1, 1, 6},
                                                          {1, 6, 1}, {6, 1, 1}, {1, 1}, {6, 0, 2}};
  for (const std::vector<std::uint64_t>& shape : shapes) {
    CAPTURE(shape_text(shape));
    const std::uint64_t items =
        std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
    write_file(dir / "x.npy", npy_text("|u1", shape, std::string("abcdef").substr(0, items), true));
    const ArrayRows rows(std::move(open_arrays(dir / "x.npy").arrays.front()),
                         items / shape.front(), dir.path());
    CHECK_FALSE(rows.is_fortran());
    CHECK(rows.is_located());
  }
}

// Found in the field: the axes of a single row in Fortran order came out turned (issue 37).
TEST_CASE("array rows: a single row in Fortran order is put in C order") {
  const TempDir dir;
  write_file(dir / "x.npy", npy_text("|u1", {1, 2, 3}, "adbecf", true));
  ArrayRows rows(std::move(open_arrays(dir / "x.npy").arrays.front()), 6, dir.path());
  CHECK(rows.is_fortran());
  PendingSample run;
  rows.take(0, 1, kMemory, run, {});
  CHECK(as_text(*run.columns.at(0)) == "abcdef");
}

TEST_CASE("array rows: what is read in another order, or turned, is noted") {
  const Letters letters;
  CHECK(letters.rows("fortran.npy").is_fortran());
  CHECK(letters.rows("fortran.npy").notes(kMemory).size() == 1);
  ArrayRows big = letters.rows("big.npy");
  CHECK(big.notes(kMemory).size() == 1);
  PendingSample run;
  big.take(0, 1, kMemory, run, {});
  CHECK_FALSE(run.swaps[0].empty());
}

TEST_CASE("array rows: putting rows in order stops when it is asked to") {
  const Letters letters;
  Events events;
  events.should_stop = [] { return true; };
  const Error error = error_of([&] { (void)letters.rows("member.npz").locate(kMemory, events); });
  CHECK(error.code() == Code::interrupted);
}

}  // namespace
}  // namespace shale
