#include "shale/arrays/array_rows.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/scratch_file.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kCopyBytes = 1 << 20;

std::string name_of(const ArrayFile& array) {
  return array.member.empty()
             ? printable(array.file->path())
             : fmt::format("{}: {}", printable(array.file->path()), printable(array.member));
}

// Without elements, or with one axis at most that is longer than 1, C order is Fortran order. That
// there is one row says nothing of the axes behind it.
bool orders_agree(std::span<const std::uint64_t> shape) {
  const auto is_long = [](std::uint64_t axis) { return axis > 1; };
  return std::ranges::find(shape, std::uint64_t{0}) != shape.end() ||
         std::ranges::count_if(shape, is_long) < 2;
}

}  // namespace

ArrayRows::ArrayRows(ArrayFile array, std::uint64_t stride, std::string scratch_folder)
    : array_(std::move(array)), stride_(stride), scratch_folder_(std::move(scratch_folder)) {
  is_fortran_ = array_.fortran_order && stride > 0 && !orders_agree(array_.shape);
  if (array_.is_located() && !is_fortran_) located_ = array_.file, offset_ = array_.data_offset;
}

std::vector<std::string> ArrayRows::notes(std::uint64_t memory_bytes) const {
  std::vector<std::string> notes;
  if (is_fortran_) {
    const FortranPlan plan = fortran_plan(memory_bytes);
    notes.push_back(
        fmt::format("{} is in Fortran order; its rows are assembled in {}", name_of(array_),
                    plan.passes == 1 ? std::string("one pass")
                                     : fmt::format("two passes, using {} of scratch space",
                                                   format_size(plan.scratch_bytes))));
  }
  if (!array_.strides.empty()) {
    notes.push_back(
        fmt::format("{} is a view with strides; its rows are put in order", name_of(array_)));
  }
  if (!array_.swaps.empty())
    notes.push_back(fmt::format("{} is big-endian; its bytes are swapped", name_of(array_)));
  return notes;
}

void ArrayRows::take(std::uint64_t row, std::uint64_t rows, std::uint64_t memory_bytes,
                     PendingSample& run, const Events& events) {
  FieldPlace place{.offset = 0, .length = rows * stride_};
  std::shared_ptr<std::vector<std::byte>> column;
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

ScratchNeed ArrayRows::scratch_need(std::uint64_t memory_bytes) const {
  if (located_) return {};
  const std::uint64_t bytes = rows() * stride_;
  ScratchNeed need{.most = bytes, .kept = bytes};
  if (is_fortran_) need.most += fortran_plan(memory_bytes).scratch_bytes;
  if (is_fortran_ && !array_.is_located()) need.most += bytes;  // unpacked
  return need;
}

LocatedRows::Segment ArrayRows::locate(std::uint64_t memory_bytes, const Events& events) {
  if (located_)
    return {.path = located_->path(),
            .file = nullptr,
            .offset = offset_,
            .rows = rows(),
            .swaps = array_.swaps};
  return {.path = {},
          .file = settle(memory_bytes, events),
          .offset = 0,
          .rows = rows(),
          .swaps = array_.swaps};
}

FortranArray ArrayRows::fortran(PieceSource from) const {
  return {.file = std::move(from),
          .data_offset = array_.is_located() ? array_.data_offset : 0,
          .shape = array_.shape,
          .item_bytes = array_.dtype.item_bytes()};
}

FortranPlan ArrayRows::fortran_plan(std::uint64_t memory_bytes) const {
  return plan_fortran(array_.shape, array_.dtype.item_bytes(), memory_bytes);
}

std::unique_ptr<RowStream> ArrayRows::open_stream(std::uint64_t memory_bytes,
                                                  const Events& events) {
  if (!is_fortran_) return open_member(array_);
  if (array_.is_located())
    return open_fortran(fortran(array_.file), memory_bytes, scratch_folder_, events);
  auto inflated = std::make_shared<ScratchFile>(scratch_folder_);
  const std::unique_ptr<RowStream> member = open_member(array_);
  copy(
      *member, [&](Bytes piece) { inflated->append(piece); }, events);
  return open_fortran(fortran(std::move(inflated)), memory_bytes, scratch_folder_, events);
}

// Writes the stream into a file, for rows that are not asked for in order.
std::shared_ptr<const InputFile> ArrayRows::settle(std::uint64_t memory_bytes,
                                                   const Events& events) {
  const NamelessFile scratch(scratch_folder_);
  const std::unique_ptr<RowStream> stream = open_stream(memory_bytes, events);
  OutputFile file(scratch.duplicate(), scratch.path(),
                  {.io = IoMode::automatic, .buffer_bytes = kCopyBytes, .buffers = 2});
  copy(
      *stream, [&](Bytes piece) { file.append(piece); }, events);
  (void)file.finish();
  return std::make_shared<const InputFile>(fmt::format("/proc/self/fd/{}", scratch.descriptor()));
}

// A row at a time at least: streams hand out whole rows.
template <class Use>
void ArrayRows::copy(RowStream& stream, Use use, const Events& events) const {
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

}  // namespace shale
