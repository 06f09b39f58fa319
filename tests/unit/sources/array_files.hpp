#pragma once

#include <string>
#include <vector>

#include "shale/sources/array_source.hpp"

#include "tests/support/npy_numbers.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/zip_builder.hpp"

namespace shale::test {

/// Eight rows of two uint16, 0x0100 to 0x010f, in every way that arrays lie in files: as they are
/// read, in two parts, big-endian, in Fortran order, and as a member of an archive.
struct ArrayFolder {
  ArrayFolder() {
    std::string big, fortran;
    for (char i = 0; i < 16; ++i) rows += {i, 1}, big += {1, i};
    for (std::size_t column = 0; column < 2; ++column) {
      for (std::size_t row = 0; row < 8; ++row) fortran += rows.substr((row * 2 + column) * 2, 2);
    }
    write_file(dir / "plain.npy", npy_text("<u2", {8, 2}, rows));
    write_file(dir / "part1.npy", npy_text("<u2", {3, 2}, rows.substr(0, 12)));
    write_file(dir / "none.npy", npy_text("<u2", {0, 2}, ""));
    write_file(dir / "part2.npy", npy_text("<u2", {5, 2}, rows.substr(12)));
    write_file(dir / "big.npy", npy_text(">u2", {8, 2}, big));
    write_file(dir / "fortran.npy", npy_text("<u2", {8, 2}, fortran, true));
    write_file(dir / "member.npz",
               zip_of({{.name = "x.npy", .data = npy_text("<u2", {8, 2}, rows)}}));
    write_file(dir / "bytes.npy", npy_text("|u1", {8}, "abcdefgh"));
  }
  /// Words such as "x=plain.npy".
  [[nodiscard]] ArrayRequest request(const std::vector<std::string>& words) const {
    std::vector<std::string> inputs;
    for (const std::string& word : words) {
      const std::size_t file = word.find('=') + 1;
      inputs.push_back(word.substr(0, file) + (dir / word.substr(file)));
    }
    return {.arrays = find_array_columns(inputs).value(),
            .scratch_folder = dir.path(),
            .memory_bytes = 16 << 20};
  }

  TempDir dir;
  std::string rows;  ///< in C order, little-endian
};

inline const std::vector<std::vector<std::string>> kWays = {
    {"x=plain.npy"},
    {"x=part1.npy", "x=none.npy", "x=part2.npy"},
    {"x=big.npy"},
    {"x=fortran.npy"},
    {"x=member.npz"}};

}  // namespace shale::test
