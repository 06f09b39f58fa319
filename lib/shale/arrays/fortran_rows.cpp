#include "shale/arrays/fortran_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "shale/arrays/column_order.hpp"
#include "shale/base/error.hpp"
#include "shale/base/transpose.hpp"
#include "shale/io/aligned_buffer.hpp"
#include "shale/io/free_space.hpp"

// A column is one combination of the indices behind the first: all its items, one of each row, lie
// together in the file. A row needs one item of every column. So
//   one pass    reads a range of rows of all columns, in one piece per column, and transposes it;
//   two passes  where such pieces would be tiny: tiles of some columns and many rows are read and
//               transposed, and become panels in a scratch file. A panel holds some columns of all
//               rows, row by row:
//
//       panel 0: row 0 [column 0 .. G)   row 1 [column 0 .. G)   ...  row n-1
//       panel 1: row 0 [column G .. 2G)  ...                          the last one may be narrower
//
//               Then a range of rows is one piece of each panel.

namespace shale {
namespace {

constexpr std::uint64_t kGoodPiece = 64 * 1024;
// Of the memory that is given: what a PieceReader holds, and what a ScratchFile holds.
constexpr std::uint64_t kReaderBytes = 64 * 1024;
constexpr std::uint64_t kScratchBufferBytes = 256 * 1024;

struct Sizes {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t item_bytes = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t all_bytes = 0;  // 0: some axis is empty, and the others may be anything
};

/// Of an array of at most so many bytes; nullopt of a larger one.
std::optional<Sizes> measure(std::span<const std::uint64_t> shape, std::uint64_t item_bytes,
                             std::uint64_t most_bytes) {
  if (shape.empty()) throw Error(Code::bug, "an array without axes has no rows");
  Sizes sizes{.rows = shape[0], .item_bytes = item_bytes};
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (is_empty || item_bytes == 0) return sizes;
  sizes.all_bytes = item_bytes;
  for (const std::uint64_t length : shape) {
    if (length > most_bytes / sizes.all_bytes) return std::nullopt;
    sizes.all_bytes *= length;
  }
  sizes.row_bytes = sizes.all_bytes / sizes.rows;
  sizes.columns = sizes.row_bytes / sizes.item_bytes;
  return sizes;
}

/// Errors: Code::damaged if the array is larger than what is left of its file.
Sizes measure(const FortranArray& array) {
  const std::uint64_t size = size_of(array.file);
  const std::uint64_t left = array.data_offset < size ? size - array.data_offset : 0;
  if (const std::optional<Sizes> sizes = measure(array.shape, array.item_bytes, left))
    return *sizes;
  throw Error(Code::damaged,
              "an array of {} axes and {} bytes per item is larger than the {} bytes left of the "
              "file",
              array.shape.size(), array.item_bytes, left)
      .at(path_of(array.file), array.data_offset)
      .hint("the file was probably truncated; restore it from an intact copy");
}

struct Method {
  enum class Kind {
    nothing,  // an empty array
    items,    // each item is a large piece
    columns,  // one pass
    panels,   // one row or one column: the file is a panel as it stands
    scratch,  // two passes
  };
  Kind kind = Kind::nothing;
  std::uint64_t memory = 0;         // for the buffers of rows
  std::uint64_t chunk_rows = 0;     // in memory at a time, at the end; 0: less than one
  std::uint64_t panel_columns = 0;  // of a panel, and of a tile
  std::uint64_t tile_rows = 0;
};

/// Of the memory: the rest is for rows that are ready.
std::uint64_t staging_part(std::uint64_t memory) { return memory / 8 * 7; }

/// A round number of rows. Lines of a multiple of 4096 bytes would all meet in the same few places
/// of the cache.
std::uint64_t rounded_rows(std::uint64_t rows, std::uint64_t item_bytes) {
  if (rows <= 128) return rows;
  rows = rows / 64 * 64;
  return rows * item_bytes % 4096 == 0 ? rows - 64 : rows;
}

/// Pieces of the source are tile_rows * item_bytes long, those of the scratch file chunk_rows *
/// panel_columns * item_bytes. Both are made equal: then they are 64 KiB as long as there are fewer
/// than about (memory / 64 KiB)^2 columns.
Method two_passes(const Sizes& sizes, std::uint64_t memory) {
  Method method{.kind = Method::Kind::scratch, .memory = memory};
  method.chunk_rows = memory / sizes.row_bytes;
  const std::uint64_t tile_items = staging_part(memory) / sizes.item_bytes;
  const std::uint64_t widest =
      std::min(sizes.columns, (memory - staging_part(memory)) / sizes.item_bytes);
  const std::uint64_t chunk_rows = std::max<std::uint64_t>(1, method.chunk_rows);
  const auto side = std::sqrt(static_cast<double>(tile_items) / static_cast<double>(chunk_rows));
  method.panel_columns = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(side), 1, widest);
  method.tile_rows = tile_items / method.panel_columns;
  if (method.tile_rows >= sizes.rows) {  // whole columns: a tile is one piece
    method.tile_rows = sizes.rows;
    method.panel_columns = std::clamp<std::uint64_t>(tile_items / sizes.rows, 1, widest);
  } else {
    method.tile_rows = rounded_rows(method.tile_rows, sizes.item_bytes);
  }
  return method;
}

Method choose_method(const Sizes& sizes, std::uint64_t memory) {
  if (memory < kLeastFortranMemory)
    throw Error(Code::bug, "{} bytes of memory for a Fortran array", memory);
  using Kind = Method::Kind;
  if (sizes.all_bytes == 0) return {};
  if (sizes.item_bytes >= kGoodPiece) return {.kind = Kind::items};

  memory -= kReaderBytes;
  if (sizes.rows == 1 || sizes.columns == 1) {
    return {.kind = Kind::panels,
            .memory = memory,
            .chunk_rows = std::min(sizes.rows, memory / sizes.row_bytes),
            .panel_columns = std::min(sizes.columns, memory / sizes.item_bytes)};
  }
  const std::uint64_t chunk_rows = staging_part(memory) / sizes.row_bytes;
  if (chunk_rows >= sizes.rows)
    return {.kind = Kind::columns, .memory = memory, .chunk_rows = sizes.rows};
  if (chunk_rows * sizes.item_bytes >= kGoodPiece) {
    return {.kind = Kind::columns,
            .memory = memory,
            .chunk_rows = rounded_rows(chunk_rows, sizes.item_bytes)};
  }
  return two_passes(sizes, memory - kScratchBufferBytes);
}

/// Some rows of some columns. In memory they lie as in the file: column by column.
struct Tile {
  std::uint64_t first_column = 0;
  std::uint64_t columns = 0;
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
};

class TileReader {
 public:
  TileReader(const FortranArray& array, const Sizes& sizes)
      : reader_(array.file), data_offset_(array.data_offset), sizes_(sizes) {}

  void read(const Tile& tile, std::span<std::byte> into) {
    const std::uint64_t length = tile.rows * sizes_.item_bytes;
    if (tile.rows == sizes_.rows) {
      reader_.add(offset_of(tile, 0), into.first(tile.columns * length));
    } else {
      for (std::uint64_t column = 0; column < tile.columns; ++column)
        reader_.add(offset_of(tile, column), into.subspan(column * length, length));
    }
    reader_.finish();
  }

  /// Of the columns of the tile, those that are due when `done` of `all` has been done elsewhere,
  /// but were not when it was `before`.
  void prefetch(const Tile& tile, std::uint64_t before, std::uint64_t done,
                std::uint64_t all) const {
    const std::uint64_t begin = tile.columns * before / all;
    const std::uint64_t end = tile.columns * done / all;
    const std::uint64_t length = tile.rows * sizes_.item_bytes;
    if (tile.rows == sizes_.rows) {
      reader_.prefetch(offset_of(tile, begin), (end - begin) * length);
    } else {
      for (std::uint64_t column = begin; column < end; ++column)
        reader_.prefetch(offset_of(tile, column), length);
    }
  }

 private:
  [[nodiscard]] std::uint64_t offset_of(const Tile& tile, std::uint64_t column) const {
    const std::uint64_t item = (tile.first_column + column) * sizes_.rows + tile.first_row;
    return data_offset_ + item * sizes_.item_bytes;
  }

  PieceReader reader_;
  std::uint64_t data_offset_;
  Sizes sizes_;
};

/// The places of `count` rows of a tile, row by row.
Transposition rows_of(const Tile& tile, std::uint64_t count, std::uint64_t item_bytes) {
  return {.lines = tile.columns,
          .length = count,
          .item_bytes = item_bytes,
          .from_line = tile.rows * item_bytes,
          .into_line = item_bytes,
          .into_item = tile.columns * item_bytes};
}

/// What all of them share: rows are counted.
class CountedRows : public RowStream {
 public:
  explicit CountedRows(const Sizes& sizes) : sizes_(sizes), left_(sizes.rows) {}

  void read_rows(std::span<std::byte> into) final {
    if (sizes_.row_bytes == 0 && into.empty()) return;
    const std::uint64_t rows = sizes_.row_bytes == 0 ? 0 : into.size() / sizes_.row_bytes;
    if (rows > left_ || rows * sizes_.row_bytes != into.size()) {
      throw Error(Code::bug, "{} bytes requested from {} rows of {} bytes", into.size(), left_,
                  sizes_.row_bytes);
    }
    left_ -= rows;
    for (std::uint64_t done = 0; done < rows;) {
      const std::span<std::byte> rest = into.subspan(done * sizes_.row_bytes);
      done += read_some(rest, rows - done);
    }
  }

 protected:
  /// Fills one row or more, `rows` at most, and says how many.
  virtual std::uint64_t read_some(std::span<std::byte> into, std::uint64_t rows) = 0;
  [[nodiscard]] const Sizes& sizes() const { return sizes_; }
  [[nodiscard]] std::span<std::byte> row_of(std::span<std::byte> into, std::uint64_t row) const {
    return into.subspan(row * sizes_.row_bytes, sizes_.row_bytes);
  }
  /// Whole rows, with the columns as in the file.
  void place_rows(const ColumnOrder& order, std::span<std::byte> from, std::uint64_t rows,
                  std::span<std::byte> into) const {
    if (order.is_kept()) {
      std::memcpy(into.data(), from.data(), rows * sizes_.row_bytes);
    } else {
      for (std::uint64_t row = 0; row < rows; ++row)
        order.place(row_of(from, row), 0, row_of(into, row));
    }
  }

 private:
  Sizes sizes_;
  std::uint64_t left_;
};

/// Items so large that each is read straight to its place.
class ItemRows final : public CountedRows {
 public:
  ItemRows(const FortranArray& array, const Sizes& sizes, ColumnOrder order)
      : CountedRows(sizes),
        reader_(array.file),
        order_(std::move(order)),
        next_(array.data_offset) {}

 private:
  std::uint64_t read_some(std::span<std::byte> into, std::uint64_t rows) override {
    const std::uint64_t item_bytes = sizes().item_bytes;
    for (std::uint64_t row = 0; row < rows; ++row, next_ += item_bytes) {
      for (std::uint64_t column = 0; column < sizes().columns; ++column) {
        reader_.add(next_ + column * sizes().rows * item_bytes,
                    row_of(into, row).subspan(order_.offset_of(column), item_bytes));
      }
    }
    reader_.finish();
    return rows;
  }

  PieceReader reader_;
  ColumnOrder order_;
  std::uint64_t next_;  // where the next row of the first column lies
};

/// One pass: a range of rows of all columns at a time.
class ColumnRows final : public CountedRows {
 public:
  ColumnRows(const FortranArray& array, const Sizes& sizes, ColumnOrder order, const Method& method)
      : CountedRows(sizes),
        order_(std::move(order)),
        reader_(array, sizes),
        chunk_rows_(method.chunk_rows) {
    const std::uint64_t staged = chunk_rows_ * sizes.row_bytes;
    const std::uint64_t rest = method.memory - staged;
    ready_rows_ = std::min(chunk_rows_, rest / sizes.row_bytes);
    staging_ = staging_memory_.require(staged);
    ready_ = ready_memory_.require(ready_rows_ > 0 ? ready_rows_ * sizes.row_bytes : rest);
    // Before the first: it begins where this one ends.
    chunk_ = {.columns = sizes.columns};
  }

 private:
  std::uint64_t read_some(std::span<std::byte> into, std::uint64_t rows) override {
    if (ready_begin_ == ready_end_) {
      if (done_ == chunk_.rows) read_chunk();
      const std::uint64_t more = std::min(chunk_.rows - done_, ready_rows_);
      if (order_.is_kept() && rows >= more) {
        rows = std::min(rows, chunk_.rows - done_);
        transpose_next(rows, into);
        return rows;
      }
      if (more == 0) {
        place_long_row(into.first(sizes().row_bytes));
        return 1;
      }
      transpose_next(more, ready_);
      ready_begin_ = 0;
      ready_end_ = more;
    }
    rows = std::min(rows, ready_end_ - ready_begin_);
    place_rows(order_, ready_.subspan(ready_begin_ * sizes().row_bytes), rows, into);
    ready_begin_ += rows;
    return rows;
  }

  [[nodiscard]] Tile next_chunk() const {
    Tile next = chunk_;
    next.first_row += chunk_.rows;
    next.rows = std::min(chunk_rows_, sizes().rows - next.first_row);
    return next;
  }

  void read_chunk() {
    chunk_ = next_chunk();
    done_ = 0;
    reader_.read(chunk_, staging_);
  }

  /// The next rows of the chunk, with the columns as in the file. The disk has the next chunk to
  /// read in the meantime.
  void transpose_next(std::uint64_t rows, std::span<std::byte> into) {
    transpose(rows_of(chunk_, rows, sizes().item_bytes),
              staging_.subspan(done_ * sizes().item_bytes), into);
    reader_.prefetch(next_chunk(), done_, done_ + rows, chunk_.rows);
    done_ += rows;
  }

  /// A row for which there is no room beside the chunk, some columns at a time. Then the chunk is
  /// the whole array: there is nothing to prefetch.
  void place_long_row(std::span<std::byte> row) {
    const std::uint64_t item_bytes = sizes().item_bytes;
    Tile part = chunk_;
    for (; part.first_column < sizes().columns; part.first_column += part.columns) {
      part.columns = std::min(ready_.size() / item_bytes, sizes().columns - part.first_column);
      const std::uint64_t first = part.first_column * chunk_.rows + done_;
      transpose(rows_of(part, 1, item_bytes), staging_.subspan(first * item_bytes), ready_);
      order_.place(ready_.first(part.columns * item_bytes), part.first_column, row);
    }
    ++done_;
  }

  ColumnOrder order_;
  TileReader reader_;
  AlignedBuffer staging_memory_, ready_memory_;
  std::span<std::byte> staging_;  // the chunk
  std::span<std::byte> ready_;    // rows of it, with the columns as in the file
  std::uint64_t chunk_rows_;
  std::uint64_t ready_rows_ = 0;  // that ready_ has room for
  Tile chunk_;
  std::uint64_t done_ = 0;                         // rows of the chunk that have been transposed
  std::uint64_t ready_begin_ = 0, ready_end_ = 0;  // rows of ready_ not handed out yet
};

/// From panels: a range of rows of each at a time.
class PanelRows final : public CountedRows {
 public:
  /// `memory`: what the first pass used, or nothing yet. Given back and taken again, it might be
  /// held twice: an allocator keeps what it thinks it will need.
  PanelRows(PieceSource panels, std::uint64_t offset, const Sizes& sizes, ColumnOrder order,
            const Method& method, AlignedBuffer memory)
      : CountedRows(sizes),
        order_(std::move(order)),
        reader_(std::move(panels)),
        offset_(offset),
        panel_columns_(method.panel_columns),
        chunk_rows_(method.chunk_rows),
        memory_(std::move(memory)),
        staging_(memory_.require(chunk_rows_ > 0 ? chunk_rows_ * sizes.row_bytes : method.memory)) {
    if (order_.is_kept() || panel_columns_ == sizes.columns || chunk_rows_ < 2) return;
    --chunk_rows_;
    joined_ = row_of(staging_, chunk_rows_);
  }

 private:
  std::uint64_t read_some(std::span<std::byte> into, std::uint64_t rows) override {
    if (chunk_rows_ == 0) {
      read_long_row(into.first(sizes().row_bytes));
      return 1;
    }
    if (chunk_begin_ == chunk_end_) read_chunk();
    rows = std::min(rows, chunk_end_ - chunk_begin_);
    const std::uint64_t begin = chunk_begin_ - chunk_first_;
    if (panel_columns_ == sizes().columns) {
      place_rows(order_, staging_.subspan(begin * sizes().row_bytes), rows, into);
    } else {
      for (std::uint64_t row = 0; row < rows; ++row) place(begin + row, row_of(into, row));
    }
    chunk_begin_ += rows;
    return rows;
  }

  [[nodiscard]] std::uint64_t width_of(std::uint64_t column) const {
    return std::min(panel_columns_, sizes().columns - column);
  }

  /// Rows of the panel that begins with this column.
  void add_piece(std::uint64_t column, std::uint64_t row, std::span<std::byte> into) {
    const std::uint64_t item = column * sizes().rows + row * width_of(column);
    reader_.add(offset_ + item * sizes().item_bytes, into);
  }

  void read_chunk() {
    const std::uint64_t first = chunk_end_;
    const std::uint64_t rows = std::min(chunk_rows_, sizes().rows - first);
    const std::uint64_t item_bytes = sizes().item_bytes;
    for (std::uint64_t column = 0; column < sizes().columns; column += panel_columns_) {
      add_piece(column, first,
                staging_.subspan(column * rows * item_bytes, width_of(column) * rows * item_bytes));
    }
    reader_.finish();
    chunk_first_ = chunk_begin_ = first;
    chunk_end_ = first + rows;
  }

  /// Joined first where there is room for it: a whole row is put in order faster than its parts.
  void place(std::uint64_t row_of_chunk, std::span<std::byte> row) const {
    const std::uint64_t rows = chunk_end_ - chunk_first_;
    for (std::uint64_t column = 0; column < sizes().columns; column += panel_columns_) {
      const std::uint64_t width = width_of(column);
      const std::uint64_t item = column * rows + row_of_chunk * width;
      const auto part = staging_.subspan(item * sizes().item_bytes, width * sizes().item_bytes);
      if (joined_.empty()) {
        order_.place(part, column, row);
      } else {
        std::memcpy(joined_.data() + column * sizes().item_bytes, part.data(), part.size());
      }
    }
    if (!joined_.empty()) order_.place(joined_, 0, row);
  }

  /// A row that is larger than the memory: as many panels as fit at a time.
  void read_long_row(std::span<std::byte> row) {
    const std::uint64_t item_bytes = sizes().item_bytes;
    const std::uint64_t most = staging_.size() / (panel_columns_ * item_bytes) * panel_columns_;
    for (std::uint64_t first = 0; first < sizes().columns; first += most) {
      const std::uint64_t last = first + std::min(most, sizes().columns - first);
      for (std::uint64_t column = first; column < last; column += panel_columns_) {
        add_piece(column, chunk_end_,
                  staging_.subspan((column - first) * item_bytes, width_of(column) * item_bytes));
      }
      reader_.finish();
      order_.place(staging_.first((last - first) * item_bytes), first, row);
    }
    ++chunk_end_;
  }

  ColumnOrder order_;
  PieceReader reader_;
  std::uint64_t offset_;
  std::uint64_t panel_columns_;
  std::uint64_t chunk_rows_;
  AlignedBuffer memory_;
  std::span<std::byte> staging_;   // rows of the chunk: panel by panel
  std::span<std::byte> joined_;    // a row, with the columns as in the file; or empty
  std::uint64_t chunk_first_ = 0;  // rows [first, end) are in memory,
  std::uint64_t chunk_begin_ = 0;  // those from here on have not been handed out
  std::uint64_t chunk_end_ = 0;
};

/// The first of two passes.
std::shared_ptr<ScratchFile> write_panels(const FortranArray& array, const Sizes& sizes,
                                          const Method& method, const std::string& folder,
                                          std::span<std::byte> memory, const Events& events) {
  require_free_space(
      folder, sizes.all_bytes,
      "an array in Fortran order is put in order here: free some space, or raise --memory "
      "until one pass over the array is enough");
  auto scratch = std::make_shared<ScratchFile>(folder);
  TileReader reader(array, sizes);
  const std::uint64_t panel_bytes = method.panel_columns * sizes.item_bytes;  // of one row
  const auto staging = memory.first(method.tile_rows * panel_bytes);
  const auto ready = memory.subspan(staging.size());
  const std::uint64_t ready_rows = std::min(method.tile_rows, ready.size() / panel_bytes);

  const auto tile_at = [&](std::uint64_t column, std::uint64_t row) {
    return Tile{column, std::min(method.panel_columns, sizes.columns - column), row,
                std::min(method.tile_rows, sizes.rows - row)};
  };
  for (Tile tile = tile_at(0, 0); tile.columns > 0;) {
    events.stop_if_asked();
    reader.read(tile, staging);
    const std::uint64_t next_row = tile.first_row + tile.rows;
    const Tile next = next_row < sizes.rows ? tile_at(tile.first_column, next_row)
                                            : tile_at(tile.first_column + tile.columns, 0);
    for (std::uint64_t done = 0; done < tile.rows;) {
      const std::uint64_t rows = std::min(ready_rows, tile.rows - done);
      reader.prefetch(next, done, done + rows, tile.rows);
      transpose(rows_of(tile, rows, sizes.item_bytes), staging.subspan(done * sizes.item_bytes),
                ready);
      scratch->append(ready.first(rows * tile.columns * sizes.item_bytes));
      done += rows;
    }
    tile = next;
  }
  return scratch;
}

}  // namespace

FortranPlan plan_fortran(std::span<const std::uint64_t> shape, std::uint64_t item_bytes,
                         std::uint64_t memory_bytes) {
  const auto sizes = measure(shape, item_bytes, std::numeric_limits<std::uint64_t>::max());
  if (!sizes)
    throw Error(Code::bug, "no file holds an array of {} axes of this shape", shape.size());
  const Method method = choose_method(*sizes, memory_bytes);
  if (method.kind != Method::Kind::scratch) return {};
  return {.passes = 2, .scratch_bytes = sizes->all_bytes};
}

std::unique_ptr<RowStream> open_fortran(FortranArray array, std::uint64_t memory_bytes,
                                        const std::string& scratch_folder, const Events& events) {
  const Sizes sizes = measure(array);
  const Method method = choose_method(sizes, memory_bytes);
  const std::span<const std::uint64_t> axes = std::span(array.shape).subspan(1);
  ColumnOrder order(sizes.all_bytes == 0 ? std::span<const std::uint64_t>() : axes,
                    sizes.item_bytes);
  switch (method.kind) {
    case Method::Kind::nothing:
    case Method::Kind::items:
      return std::make_unique<ItemRows>(array, sizes, std::move(order));
    case Method::Kind::columns:
      return std::make_unique<ColumnRows>(array, sizes, std::move(order), method);
    case Method::Kind::panels:
      return std::make_unique<PanelRows>(std::move(array.file), array.data_offset, sizes,
                                         std::move(order), method, AlignedBuffer());
    case Method::Kind::scratch:
      break;
  }
  AlignedBuffer memory;
  auto panels =
      write_panels(array, sizes, method, scratch_folder, memory.require(method.memory), events);
  return std::make_unique<PanelRows>(std::move(panels), 0, sizes, std::move(order), method,
                                     std::move(memory));
}

}  // namespace shale
