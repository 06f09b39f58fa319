#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shale/io/input_file.hpp"
#include "shale/parquet/parquet_metadata.hpp"

#include "formats/parquet/parquet_page.hpp"
#include "formats/parquet/parquet_plan.hpp"

namespace shale {

/// A column of a row group of shale's own, row by row, from its pages. Errors of all functions:
/// Code::damaged, with the offset, for anything that shale does not write; those of reading.
class ParquetCursor {
 public:
  /// The pages are [begin, end) of the file, of at most so many rows. Borrows leaf and file.
  ParquetCursor(const ParquetLeaf& leaf, const InputFile& file, std::uint64_t begin,
                std::uint64_t end, std::uint64_t rows, std::uint64_t window_bytes);

  struct Row {
    RowLevels levels;
    FieldPlace place = {};     ///< of bytes and lists, without the length in front
    std::uint64_t stored = 0;  ///< of the part
    bool begins_page = false;
  };
  /// The next row. `reads_pages`: their checksums are computed, for is_page_sound().
  [[nodiscard]] Row next(bool reads_pages);
  /// Of the page that the last row is in.
  [[nodiscard]] bool is_page_sound() const { return is_page_sound_; }
  [[nodiscard]] std::uint64_t page_offset() const { return header_; }
  /// The bytes of a value.
  [[nodiscard]] Bytes view(std::uint64_t offset, std::uint64_t length) {
    return window_->view(offset, length);
  }
  /// Of a bool: its bit.
  [[nodiscard]] bool last_bit();
  /// The bounds of the page that the last row is in.
  [[nodiscard]] ValueBounds& bounds() { return page_bounds_; }

  /// What the end of the file says of the chunk, whose rows have all been read.
  [[nodiscard]] WrittenChunk finish();

 private:
  struct Run {
    std::uint32_t level;
    std::uint64_t slots;
  };
  // Levels of a page that are not used yet, the next one last.
  using Runs = std::vector<Run>;

  void enter_page(bool reads_pages);
  void leave_page();
  [[nodiscard]] Runs read_levels(std::uint64_t slots);
  [[nodiscard]] std::uint32_t take_level(Runs& runs, std::uint64_t slots = 1);
  [[nodiscard]] RowLevels take_row();
  [[nodiscard]] std::uint64_t take_elements();
  void take_values(Row& row);
  [[noreturn]] void fail(std::string_view message, std::uint64_t offset) const;

  const ParquetLeaf* leaf_;
  const InputFile* file_;
  std::unique_ptr<WindowReader> window_;
  std::uint64_t at_, end_;  // of the next page, of the chunk
  std::uint64_t most_level_bytes_;
  std::uint64_t header_ = 0, body_ = 0, values_ = 0, body_end_ = 0, next_ = 0;  // of this page
  std::uint64_t rows_ = 0, slots_left_ = 0, bits_ = 0;
  Runs repetition_, definition_;
  PageLevels levels_;  // as shale writes those of the rows so far
  ValueBounds page_bounds_, chunk_bounds_;
  WrittenChunk chunk_;
  bool is_page_sound_ = true;
};

}  // namespace shale
