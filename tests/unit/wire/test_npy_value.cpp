#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/wire/npy_value.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;

std::vector<std::byte> file_of(std::string_view dict, std::string_view data) {
  std::string file = "\x93NUMPY" + std::string("\x01\0", 2);
  file += std::string(as_text(bytes_of(static_cast<std::uint16_t>(dict.size()))));
  file.append(dict).append(data);
  const Bytes bytes = as_bytes(file);
  return {bytes.begin(), bytes.end()};
}

Field tensor(std::string_view dtype, std::vector<std::uint64_t> shape) {
  return {.name = "pose",
          .kind = Kind::tensor,
          .dtype = DType::parse(dtype),
          .shape = std::move(shape)};
}

TEST_CASE("npy value: bytes in Fortran's order, big-endian, come out in C order, little-endian") {
  auto file = file_of("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}",
                      std::string_view("\0\1\0\4\0\2\0\5\0\3\0\6", 12));
  std::vector<std::byte> room(file.size());
  const NpyValue value = read_npy_value(tensor("<i2", {kFreeSide, 3}), file, room, "a.npy");
  CHECK(value.shape == std::vector<std::uint64_t>{2, 3});
  CHECK(as_text(value.elements) == std::string_view("\1\0\2\0\3\0\4\0\5\0\6\0", 12));
  CHECK(value.room_bytes == 12);
}

TEST_CASE("npy value: an array of several axes in Fortran's order is reordered") {
  // numpy.arange(24, dtype="u1").reshape(2, 3, 4) in Fortran's order.
  std::string data;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) data += static_cast<char>(i * 12 + j * 4 + k);
    }
  }
  auto file = file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}", data);
  std::vector<std::byte> room(file.size());
  const NpyValue value = read_npy_value(tensor("|u1", {2, 3, 4}), file, room, "a.npy");
  for (std::size_t i = 0; i < 24; ++i) CHECK(value.elements[i] == static_cast<std::byte>(i));
}

TEST_CASE("npy value: what is no array of the field is refused, with the fact") {
  struct Row {
    std::string_view dict;
    std::size_t bytes;
    std::string_view message;
  };
  constexpr Row kRows[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 24,
       "array is float32 (2, 3), not float32 (?, 4)"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 4)}", 32,
       "array is float64 (1, 4), not float32 (?, 4)"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)}", 31,
       "array of shape (2, 4) takes 32 bytes after its header, but the file has 31"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)}", 33,
       "array of shape (2, 4) is followed by 1 more byte"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}", 16,
       "array has columns with names: [('a', '<f4')]"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (4,)}", 16, "dtype '|O'"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.message);
    auto file = file_of(row.dict, std::string(row.bytes, 'x'));
    std::vector<std::byte> room(file.size());
    const Error error = error_of([&] {
      (void)read_npy_value(tensor("<f4", {kFreeSide, 4}), file, room, "a.npy");
    });
    CHECK(error.message().starts_with(row.message));
    CHECK(error.file() == "a.npy");
  }
}

}  // namespace
}  // namespace shale
