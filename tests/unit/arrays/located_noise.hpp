#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shale/arrays/located_rows.hpp"
#include "shale/data/byte_swap.hpp"

#include "support/temp_dir.hpp"

namespace shale::test {

/// Rows of noise in files, with other bytes before and behind them; what they are in memory.
struct LocatedNoise {
  struct File {
    std::uint64_t offset = 0, rows = 0;
    bool is_turned = false;  ///< its numbers lie big-endian
  };

  /// `item_bytes` are those of one number, and divide `row_bytes_of`.
  LocatedNoise(const TempDir& dir, std::uint64_t row_bytes_of, std::uint64_t item_bytes,
               const std::vector<File>& files)
      : row_bytes(row_bytes_of) {
    std::mt19937_64 dice(row_bytes + files.size());
    const ByteSwap swap{0, static_cast<std::uint32_t>(item_bytes), 1};
    for (std::size_t i = 0; i < files.size(); ++i) {
      std::string column(files[i].rows * row_bytes, '\0');
      for (char& byte : column) byte = static_cast<char>(dice());
      all += column;
      Segment segment{dir / ("rows-" + std::to_string(i)), nullptr, files[i].offset, files[i].rows};
      if (files[i].is_turned) {
        segment.swaps.push_back(swap);
        swap_bytes(std::as_writable_bytes(std::span(column)), item_bytes, segment.swaps);
      }
      write_file(segment.path, std::string(files[i].offset, '<') + column + ">>>");
      segments.push_back(std::move(segment));
    }
    rows = std::make_unique<LocatedRows>(row_bytes, item_bytes, segments);
  }

  [[nodiscard]] std::string row(std::uint64_t index) const {
    return all.substr(index * row_bytes, row_bytes);
  }

  using Segment = LocatedRows::Segment;
  std::uint64_t row_bytes;
  std::string all;  ///< the rows, little-endian
  std::vector<Segment> segments;
  std::unique_ptr<LocatedRows> rows;
};

}  // namespace shale::test
