#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shale/data/fixed_value.hpp"
#include "shale/datasets/foreign_file.hpp"

#include "tests/support/grid_format.hpp"
#include "tests/support/temp_dir.hpp"

// A file of another tool whose rows are fixed, of three MiB and a half.

namespace shale::test {

inline constexpr std::uint64_t kRows = 3000, kTensorBytes = 1200;

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline float real_of(std::uint64_t row) { return static_cast<float>(row) * 0.25F; }
inline std::string tensor_of(std::uint64_t row) {
  return std::string(kTensorBytes - 1, static_cast<char>(row)) + static_cast<char>(row / 256);
}

// A tensor, an int16, a float32 and a bool; three MiB and a half.
inline std::vector<GridColumn> columns_of(std::uint64_t rows = kRows) {
  std::vector<GridColumn> columns = {
      {field_of_column("x", DType::parse("<i2"), {2, 300}), ""},
      {field_of_column("y", DType::parse("<i2"), {}), ""},
      {field_of_column("z", DType::parse("<f4"), {}), ""},
      {field_of_column("flag", DType::parse("|b1"), {}), ""},
  };
  for (std::uint64_t row = 0; row < rows; ++row) {
    columns[0].values += tensor_of(row);
    put(columns[1].values, static_cast<std::int16_t>(-static_cast<std::int64_t>(row)));
    put(columns[2].values, real_of(row));
    put(columns[3].values, static_cast<std::uint8_t>(row % 3 == 0));
  }
  return columns;
}

inline ForeignRequest indexing(const std::string& file, bool with_checksums = false) {
  return {.file = file,
          .index_folder = "",
          .with_checksums = with_checksums,
          .generator = "shale test"};
}

inline void flip(const std::string& path, std::uint64_t offset) {
  std::string bytes = read_text(path);
  bytes[offset] = static_cast<char>(bytes[offset] ^ 0x40);
  const auto time = std::filesystem::last_write_time(path);
  write_file(path, bytes);
  std::filesystem::last_write_time(path, time);  // no index notices this
}

}  // namespace shale::test
