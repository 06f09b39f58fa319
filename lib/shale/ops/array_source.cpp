#include "shale/ops/array_source.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <unistd.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/io/output_file.hpp"
#include "shale/ops/fortran_rows.hpp"
#include "shale/ops/row_stream.hpp"
#include "shale/shards/naming.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kCopyBytes = 1 << 20;

std::string name_of(const ArrayFile& array) {
  return array.member.empty()
             ? printable(array.file->path())
             : fmt::format("{}: {}", printable(array.file->path()), printable(array.member));
}

// One array of a column: read in place, or as a stream.
class ArrayRows {
 public:
  ArrayRows(ArrayFile array, std::uint64_t stride, const ArrayRequest& request)
      : array_(std::move(array)), stride_(stride), request_(request) {
    // One row, or one column, lies in both orders the same way.
    const std::uint64_t items =
        array_.dtype.item_bytes() == 0 ? 0 : stride / array_.dtype.item_bytes();
    is_fortran_ = array_.fortran_order && rows() > 1 && items > 1;
    if (array_.is_located() && !is_fortran_) located_ = array_.file, offset_ = array_.data_offset;
  }

  [[nodiscard]] std::uint64_t rows() const { return array_.shape.front(); }
  [[nodiscard]] std::span<const ByteSwap> swaps() const { return array_.swaps; }
  [[nodiscard]] bool is_fortran() const { return is_fortran_; }
  [[nodiscard]] const ArrayFile& array() const { return array_; }

  // What the user should know of how it is read.
  [[nodiscard]] std::vector<std::string> notes(std::uint64_t memory_bytes) const {
    std::vector<std::string> notes;
    if (is_fortran_) {
      const FortranPlan plan = plan_fortran(fortran(array_.file), memory_bytes);
      notes.push_back(
          fmt::format("{}: in Fortran order: its rows are put together in {}", name_of(array_),
                      plan.passes == 1 ? std::string("one pass")
                                       : fmt::format("two passes, by way of {} of scratch space",
                                                     format_size(plan.scratch_bytes))));
    }
    if (!array_.swaps.empty())
      notes.push_back(fmt::format("{}: big-endian: its bytes are turned around", name_of(array_)));
    return notes;
  }

  // Rows [row, row + rows) into the run: where they lie, or themselves.
  void take(std::uint64_t row, std::uint64_t rows, bool in_order, std::uint64_t memory_bytes,
            PendingSample& run, const Events& events) {
    FieldPlace place{.offset = 0, .length = rows * stride_};
    std::shared_ptr<std::vector<std::byte>> column;
    if (!located_ && !in_order) settle(memory_bytes, events);
    if (located_) {
      place.offset = offset_ + row * stride_;
    } else {
      if (!stream_) stream_ = open_stream(memory_bytes, events);
      column = std::make_shared<std::vector<std::byte>>(place.length);
      stream_->read_rows(*column);
      if (row + rows == this->rows()) stream_.reset();
    }
    run.bytes += place.length;
    run.cells.push_back({.place = place});
    run.descriptors.push_back(located_ ? located_->descriptor() : -1);
    run.columns.push_back(std::move(column));
    run.swaps.emplace_back(array_.swaps);
  }

 private:
  [[nodiscard]] FortranArray fortran(PieceSource from) const {
    return {.file = std::move(from),
            .data_offset = array_.is_located() ? array_.data_offset : 0,
            .shape = array_.shape,
            .item_bytes = array_.dtype.item_bytes()};
  }

  std::unique_ptr<RowStream> open_stream(std::uint64_t memory_bytes, const Events& events) {
    if (!is_fortran_) return open_member(array_);
    if (array_.is_located())
      return open_fortran(fortran(array_.file), memory_bytes, request_.scratch_folder, events);
    auto inflated = std::make_shared<ScratchFile>(request_.scratch_folder);
    const std::unique_ptr<RowStream> member = open_member(array_);
    copy(
        *member, [&](Bytes piece) { inflated->append(piece); }, events);
    return open_fortran(fortran(std::move(inflated)), memory_bytes, request_.scratch_folder,
                        events);
  }

  // Writes the stream into a file, for rows that are not asked for in order.
  void settle(std::uint64_t memory_bytes, const Events& events) {
    const std::string path =
        join_path(request_.scratch_folder, fmt::format(".shale-rows-{}", ::getpid()));
    const std::unique_ptr<RowStream> stream = open_stream(memory_bytes, events);
    OutputFile file(path, {.io = IoMode::automatic, .buffer_bytes = kCopyBytes, .buffers = 2});
    // Its name goes at once: a kill leaves nothing, and its bytes stay as long as it is open.
    located_ = std::make_shared<const InputFile>(path);
    std::filesystem::remove(path);
    copy(
        *stream, [&](Bytes piece) { file.append(piece); }, events);
    (void)file.finish();
    offset_ = 0;
  }

  // A row at a time at least: streams hand out whole rows.
  template <class Use>
  void copy(RowStream& stream, Use use, const Events& events) const {
    const std::uint64_t rows_at_once =
        std::max<std::uint64_t>(1, kCopyBytes / std::max<std::uint64_t>(1, stride_));
    std::vector<std::byte> piece;
    for (std::uint64_t done = 0; done < rows(); done += rows_at_once) {
      piece.resize(std::min(rows_at_once, rows() - done) * stride_);
      stream.read_rows(piece);
      use(piece);
      events.stop_if_asked();
    }
  }

  ArrayFile array_;
  std::uint64_t stride_;
  const ArrayRequest& request_;
  bool is_fortran_ = false;
  std::shared_ptr<const InputFile> located_;  // where rows lie one after the other, from offset_ on
  std::uint64_t offset_ = 0;
  std::unique_ptr<RowStream> stream_;
};

// A column under way: its arrays, and which of them row 0 of the next run is in.
struct OpenColumn {
  std::vector<ArrayRows> arrays;
  std::vector<std::uint64_t> first_row;  // of each array
  [[nodiscard]] std::size_t holding(std::uint64_t row) const {
    const auto after = std::upper_bound(first_row.begin(), first_row.end(), row);
    return static_cast<std::size_t>(after - first_row.begin()) - 1;
  }
};

class ArraySource final : public Source {
 public:
  ArraySource(ArrayRequest request, const Events& events)
      : request_(std::move(request)), events_(events) {
    const std::vector<ArrayColumn>& columns = request_.arrays.columns;
    rows_ = columns.front().rows();
    info_.notes = request_.arrays.notes;
    std::string facts = "arrays\n";
    std::uint64_t row_bytes = 0;
    for (const ArrayColumn& column : columns) {
      const ArrayFile& first = column.arrays.front();
      info_.schema.fields.push_back(
          field_of_column(column.name, first.dtype, {first.shape.begin() + 1, first.shape.end()}));
      const std::uint64_t stride = fixed_bytes_of(info_.schema.fields.back()).value();
      row_bytes += stride;
      open(column, stride, facts);
    }
    info_.schema.has_keys = false;
    validate_schema(info_.schema);
    std::size_t fortran = 0;
    for (const OpenColumn& column : columns_)
      fortran += std::any_of(column.arrays.begin(), column.arrays.end(),
                             [](const ArrayRows& rows) { return rows.is_fortran(); })
                     ? 1
                     : 0;
    if (fortran > 0) {
      info_.memory_bytes = request_.memory_bytes;
      fortran_bytes_ = std::max(kLeastFortranMemory, request_.memory_bytes / fortran);
    }
    for (const OpenColumn& column : columns_) {
      for (const ArrayRows& array : column.arrays) {
        for (std::string& note : array.notes(fortran_bytes_))
          info_.notes.push_back(std::move(note));
      }
    }
    info_.row_bytes = row_bytes;
    info_.keys_are_unique = true;
    info_.manifest = {.kind = "arrays",
                      .samples = rows_,
                      .bytes = rows_ * row_bytes,
                      .fingerprint = xxh3_128(as_bytes(facts)),
                      .mtime_ns = {}};
    if (request_.is_shuffled && rows_ > 0) order_.emplace(rows_, request_.seed);
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    if (position_ == rows_) return std::nullopt;
    PendingSample run;
    run.first_number = order_ ? order_->at(position_) : position_;
    run.rows = order_ ? 1 : std::min(most_rows, rows_ - position_);
    for (const OpenColumn& column : columns_) {
      const std::size_t array = column.holding(run.first_number);
      const std::uint64_t end = column.first_row[array] + column.arrays[array].rows();
      run.rows = std::min(run.rows, end - run.first_number);
    }
    for (OpenColumn& column : columns_) {
      const std::size_t array = column.holding(run.first_number);
      column.arrays[array].take(run.first_number - column.first_row[array], run.rows, !order_,
                                fortran_bytes_, run, events_);
    }
    position_ += run.rows;
    return run;
  }

 private:
  // Paths and times are no part of the facts; names, types, order and sizes are.
  void open(const ArrayColumn& column, std::uint64_t stride, std::string& facts) {
    OpenColumn& opened = columns_.emplace_back();
    std::uint64_t rows = 0;
    for (const ArrayFile& array : column.arrays) {
      facts += fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", column.name, array.dtype.descr(),
                           array.swaps.size(), array.fortran_order, array.shape.front(), stride);
      // Arrays without rows hold none of any run.
      if (array.shape.front() == 0) continue;
      opened.first_row.push_back(rows);
      rows += array.shape.front();
      opened.arrays.emplace_back(array, stride, request_);
    }
  }

  const ArrayRequest request_;
  const Events& events_;
  SourceInfo info_;
  std::vector<OpenColumn> columns_;
  std::uint64_t rows_ = 0, position_ = 0, fortran_bytes_ = kLeastFortranMemory;
  std::optional<Permutation> order_;
};

}  // namespace

std::unique_ptr<Source> open_array_source(ArrayRequest request, const Events& events) {
  return std::make_unique<ArraySource>(std::move(request), events);
}

}  // namespace shale
