#include <memory>
#include <span>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "shale/arrays/array_rows.hpp"

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

TEST_CASE("array rows: one row, and rows of one number, lie alike in both orders") {
  const TempDir dir;
  write_file(dir / "row.npy", npy_text("|u1", {1, 2}, "ab", true));
  write_file(dir / "column.npy", npy_text("|u1", {6, 1}, "abcdef", true));
  for (const auto& [name, stride] : {std::pair{"row.npy", 2U}, {"column.npy", 1U}}) {
    const ArrayRows rows(std::move(open_arrays(dir / name).arrays.front()), stride, dir.path());
    CHECK_FALSE(rows.is_fortran());
  }
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
