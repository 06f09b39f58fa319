#include <random>

#include <doctest/doctest.h>

#include "shale/arrays/strided_rows.hpp"
#include "shale/base/bytes.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

std::string rows_of(const std::string& path, StridedArray array, std::uint64_t rows_at_once) {
  array.file = std::make_shared<const InputFile>(path);
  std::uint64_t row_bytes = array.item_bytes;
  for (std::size_t axis = 1; axis < array.shape.size(); ++axis) row_bytes *= array.shape[axis];
  const std::uint64_t rows = array.shape[0];
  const std::unique_ptr<RowStream> stream = open_strided(array);
  std::string all;
  for (std::uint64_t done = 0; done < rows; done += rows_at_once) {
    std::vector<std::byte> piece(std::min(rows_at_once, rows - done) * row_bytes);
    stream->read_rows(piece);
    all += as_text(piece);
  }
  return all;
}

// Element by element.
std::string expected_rows(const std::string& bytes, const StridedArray& array) {
  std::string all;
  std::uint64_t elements = 1;
  for (const std::uint64_t axis : array.shape) elements *= axis;
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::uint64_t rest = i, at = 0;
    for (std::size_t axis = array.shape.size(); axis-- > 0;) {
      at += rest % array.shape[axis] * array.strides[axis];
      rest /= array.shape[axis];
    }
    all += bytes.substr(array.data_offset + at * array.item_bytes, array.item_bytes);
  }
  return all;
}

TEST_CASE("strided rows: random shapes, orders and steps give the elements of a loop") {
  const TempDir dir;
  const unsigned seed = std::random_device()();
  MESSAGE("seed ", seed);
  std::mt19937 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += static_cast<char>(random());
  write_file(dir / "a", bytes);
  for (int round = 0; round < 200; ++round) {
    StridedArray array;
    array.item_bytes = std::uint64_t{1} << below(5);
    array.data_offset = below(100);
    const std::size_t axes = 1 + below(4);
    std::vector<std::size_t> order;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      array.shape.push_back(1 + below(6));
      order.push_back(axis);
    }
    std::shuffle(order.begin(), order.end(), random);
    array.strides.resize(axes);
    std::uint64_t step = 1;
    for (const std::size_t axis : order) {
      step *= 1 + below(3) / 2;
      array.strides[axis] = below(8) == 0 ? 0 : step;
      step *= array.shape[axis];
    }
    CHECK(rows_of(dir / "a", array, 1 + below(4)) == expected_rows(bytes, array));
  }
}

TEST_CASE("strided rows: rows that are spread over the file are read run by run") {
  const TempDir dir;
  std::string bytes;
  for (int i = 0; i < 1 << 20; ++i) bytes += static_cast<char>(i * 7 >> 3);
  write_file(dir / "a", bytes);
  const StridedArray array{.file = {},
                           .data_offset = 1,
                           .shape = {3, 16, 2},
                           .strides = {2, 65'000, 1},
                           .item_bytes = 1};
  CHECK(rows_of(dir / "a", array, 2) == expected_rows(bytes, array));
}

}  // namespace
}  // namespace shale
