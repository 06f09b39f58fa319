#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/sources/sampled_elements.hpp"

#include "tests/support/npy_numbers.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

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
