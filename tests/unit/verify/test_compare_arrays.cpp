#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/datasets/open_dataset.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/verify/compare_arrays.hpp"

#include "tests/support/grid_rows.hpp"
#include "tests/support/npy_numbers.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// A dataset of `values`, one row of shape (2, 3), compared with x.npy in Fortran order, whose row
// is "abcdef" in C order, by somebody who opens arrays with `open`.
struct Comparison {
  Comparison(const std::string& values, const OpenArrays& open) {
    const TempDir dir;
    write_file(dir / "x.npy", npy_text("|u1", {1, 2, 3}, "adbecf", true));
    const Field field{"x", Kind::tensor, DType::parse("|u1"), {2, 3}};
    write_file(dir / "set.grid", grid_bytes({{field, values}}, 1));
    (void)index_file(indexing(dir / "set.grid", true), {});
    const Manifest manifest = read_manifest(DatasetPaths::of_file(dir / "set.grid", ""));
    const Events events;
    const FindingSink sink = [&](Finding finding) { findings.push_back(std::move(finding)); };
    VerifyLog log(sink, events);
    const DatasetDigest digest = digest_of_arrays(
        manifest,
        {.dataset = dir / "set.grid", .against = {}, .index_folder = "", .generator = "shale test"},
        find_array_columns({dir / "x.npy"}).value(), log, open);
    is_same = digest.content == manifest.digest.content;
  }
  std::vector<Finding> findings;
  bool is_same = false;
};

// Reads arrays in Fortran order as if they were in C order.
std::unique_ptr<Source> open_turned(ArrayRequest request, const Events& events) {
  for (ArrayColumn& column : request.arrays.columns) {
    for (ArrayFile& array : column.arrays) array.fortran_order = false;
  }
  return open_array_source(std::move(request), events);
}

TEST_CASE("compare arrays: rows that are the array's agree, without a finding") {
  const Comparison comparison("abcdef", open_array_source);
  CHECK(comparison.findings.empty());
  CHECK(comparison.is_same);
}

TEST_CASE("compare arrays: other rows differ by their digest") {
  const Comparison comparison("abcdeX", open_array_source);
  CHECK(comparison.findings.empty());
  CHECK_FALSE(comparison.is_same);
}

// Found in the field: what convert read wrongly, verify read as wrongly, and attested (issue 37).
TEST_CASE(
    "compare arrays: a dataset of wrong rows is found even if the source is read as wrongly") {
  const Comparison comparison("adbecf", open_turned);
  REQUIRE(comparison.findings.size() == 1);
  const Finding& finding = comparison.findings[0];
  CHECK(finding.field == "x");
  CHECK(finding.message ==
        "element (0, 1) of row 0 is not the one in the source's file, nor are 3 more of the 6 "
        "elements that were compared");
  CHECK(finding.found == "0x64");
  CHECK(finding.expected == "0x62");
}

std::vector<SampledElement> elements_of(const std::string& file, std::uint64_t most = 100) {
  return sample_elements(open_arrays(file).arrays.front(), 10, most, {});
}

std::string letters_of(const std::vector<SampledElement>& elements) {
  std::string letters;
  for (const SampledElement& element : elements) letters += as_text(element.bytes);
  return letters;
}

TEST_CASE("sampled elements: all of a small array, in C order, whatever its own order") {
  const TempDir dir;
  write_file(dir / "c.npy", npy_text("|u1", {2, 2, 3}, "abcdefghijkl"));
  write_file(dir / "f.npy", npy_text("|u1", {2, 2, 3}, "agdjbhekcifl", true));
  for (const std::string_view name : {"c.npy", "f.npy"}) {
    CAPTURE(name);
    const std::vector<SampledElement> elements = elements_of(dir / name);
    REQUIRE(elements.size() == 12);
    CHECK(letters_of(elements) == "abcdefghijkl");
    CHECK(elements[9].row == 11);
    CHECK(elements[9].index == std::vector<std::uint64_t>{1, 0});
    CHECK(elements[9].item == 3);
  }
}

TEST_CASE("sampled elements: a view by its strides, big-endian numbers turned around") {
  const TempDir dir;
  write_file(dir / "x.npy", npy_text("|u1", {8}, "abcdefgh"));
  ArrayFile view = open_arrays(dir / "x.npy").arrays.front();
  view.shape = {2, 1, 3};
  view.strides = {1, 77, 2};
  CHECK(letters_of(sample_elements(view, 0, 100, {})) == "acebdf");

  write_file(dir / "big.npy", npy_text(">u2", {3}, "abcdef"));
  CHECK(letters_of(elements_of(dir / "big.npy")) == "badcfe");
}

TEST_CASE("sampled elements: of a large array so many, always the same, ascending") {
  const TempDir dir;
  std::string data(5000, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7);
  write_file(dir / "x.npy", npy_text("|u1", {100, 50}, data));
  const std::vector<SampledElement> elements = elements_of(dir / "x.npy", 64);
  REQUIRE(elements.size() == 64);
  std::uint64_t below = 0;
  for (const SampledElement& element : elements) {
    const std::uint64_t number = (element.row - 10) * 50 + element.item;
    CHECK(number >= below);
    CHECK(static_cast<char>(element.bytes.at(0)) == data.at(number));
    below = number + 1;
  }
  CHECK(letters_of(elements) == letters_of(elements_of(dir / "x.npy", 64)));
}

TEST_CASE("sampled elements: an array without elements has none") {
  const TempDir dir;
  write_file(dir / "x.npy", npy_text("<f8", {3, 0, 2}, "", true));
  CHECK(elements_of(dir / "x.npy").empty());
}

}  // namespace
}  // namespace shale
