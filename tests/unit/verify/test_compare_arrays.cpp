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
    compare_arrays(
        manifest,
        {.dataset = dir / "set.grid",
         .against = {},
         .labels_file = "",
         .index_folder = "",
         .generator = "shale test"},
        find_array_columns({dir / "x.npy"}, {}).value(),
        [&](Finding finding) { findings.push_back(std::move(finding)); }, {}, notes, open);
  }
  std::vector<Finding> findings;
  std::vector<std::string> notes;
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
}

TEST_CASE("compare arrays: other rows differ by their digest") {
  const Comparison comparison("abcdeX", open_array_source);
  REQUIRE(comparison.findings.size() == 1);
  CHECK(comparison.findings[0].message.starts_with("content digest differs"));
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

}  // namespace
}  // namespace shale
