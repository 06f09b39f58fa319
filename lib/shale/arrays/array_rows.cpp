#include "shale/arrays/array_rows.hpp"

#include <algorithm>
#include <utility>

#include "shale/arrays/open_member.hpp"
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
             ? printable(array.path())
             : fmt::format("{}: {}", printable(array.path()), printable(array.member));
}

// Without elements, or with one axis at most that is longer than 1, C order is Fortran order. That
// there is one row says nothing of the axes behind it.
bool orders_agree(std::span<const std::uint64_t> shape) {
  const auto is_long = [](std::uint64_t axis) { return axis > 1; };
  return std::ranges::find(shape, std::uint64_t{0}) != shape.end() ||
         std::ranges::count_if(shape, is_long) < 2;
}

// Elements in Fortran order, of one axis that holds all those behind the rows; and those that lie
// in C order but for the axis of the rows: those before it are one axis, those behind it one item.
// Nullopt for any others.
std::optional<FortranArray> as_fortran(const ArrayFile& array) {
  FortranArray found{.file = {}, .shape = array.shape, .item_bytes = array.dtype.item_bytes()};
  if (array.strides.empty()) return array.fortran_order ? std::optional(found) : std::nullopt;
  std::uint64_t before = 1, behind = 1;
  for (std::size_t axis = array.shape.size(); axis-- > 1;) {
    const std::uint64_t length = array.shape[axis], step = array.strides[axis];
    if (length == 1) continue;
    if (before == 1 && step == behind)
      behind *= length;
    else if (step == behind * array.shape[0] * before)
      before *= length;
    else
      return std::nullopt;
  }
  if (before == 1 || array.strides[0] != behind) return std::nullopt;
  found.shape = {array.shape[0], before};
  found.item_bytes *= behind;
  return found;
}

}  // namespace

ArrayRows::ArrayRows(ArrayFile array, std::uint64_t stride, std::string scratch_folder)
    : array_(std::move(array)), stride_(stride), scratch_folder_(std::move(scratch_folder)) {
  if (stride > 0 && !orders_agree(array_.shape)) fortran_ = as_fortran(array_);
  if (array_.is_located() && !fortran_) located_ = array_.file, offset_ = array_.data_offset;
}

std::vector<std::string> ArrayRows::notes(std::uint64_t memory_bytes) const {
  std::vector<std::string> notes;
  if (fortran_) {
    const FortranPlan plan = fortran_plan(memory_bytes);
    notes.push_back(fmt::format(
        "{} {}; its rows are assembled in {}", name_of(array_),
        array_.fortran_order ? "is in Fortran order" : "has its rows along another axis",
        plan.passes == 1 ? std::string("one pass")
                         : fmt::format("two passes, using {} of scratch space",
                                       format_size(plan.scratch_bytes))));
  }
  if (!array_.strides.empty() && !fortran_) {
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
  if (located_ && located_->descriptor() >= 0) {
    place.offset = offset_ + row * stride_;
  } else if (located_) {
    // Of more files than may be open: those of the runs under way could be as many.
    column = std::make_shared<std::vector<std::byte>>(place.length);
    located_->read_exact(offset_ + row * stride_, *column);
  } else {
    if (!stream_) stream_ = open_stream(memory_bytes, events);
    column = std::make_shared<std::vector<std::byte>>(place.length);
    stream_->read_rows(*column);
    if (row + rows == this->rows()) stream_.reset();
  }
  run.bytes += place.length;
  run.cells.push_back({.place = place});
  run.descriptors.push_back(column ? -1 : located_->descriptor());
  run.columns.push_back(std::move(column));
  run.swaps.emplace_back(array_.swaps);
}

ScratchNeed ArrayRows::scratch_need(std::uint64_t memory_bytes) const {
  if (located_) return {};
  const std::uint64_t bytes = rows() * stride_;
  ScratchNeed need{.most = bytes, .kept = bytes};
  if (fortran_) need.most += fortran_plan(memory_bytes).scratch_bytes;
  if (array_.archived && (fortran_ || !array_.strides.empty())) need.most += bytes;  // unpacked
  return need;
}

LocatedRows::Segment ArrayRows::locate(std::uint64_t memory_bytes, const Events& events) {
  if (located_)
    return {.path = located_->path(),
            .file = array_.is_in_memory ? located_ : nullptr,
            .offset = offset_,
            .rows = rows(),
            .swaps = array_.swaps};
  return {.path = {},
          .file = write_out(*open_stream(memory_bytes, events), events),
          .offset = 0,
          .rows = rows(),
          .swaps = array_.swaps};
}

FortranArray ArrayRows::fortran(PieceSource from) const {
  FortranArray array = *fortran_;
  array.file = std::move(from);
  array.data_offset = array_.archived ? 0 : array_.data_offset;
  return array;
}

FortranPlan ArrayRows::fortran_plan(std::uint64_t memory_bytes) const {
  return plan_fortran(fortran_->shape, fortran_->item_bytes, memory_bytes);
}

std::unique_ptr<RowStream> ArrayRows::open_stream(std::uint64_t memory_bytes,
                                                  const Events& events) {
  if (array_.file->descriptor() < 0) {
    ArrayFile opened = array_;
    opened.file = std::make_shared<const InputFile>(array_.file->path());
    return ArrayRows(std::move(opened), stride_, scratch_folder_).open_stream(memory_bytes, events);
  }
  if (fortran_ && !array_.archived)
    return open_fortran(fortran(array_.file), memory_bytes, scratch_folder_, events);
  if (!fortran_) {
    if (!array_.archived || array_.strides.empty()) return open_member(array_);
    ArrayFile unpacked = array_;
    unpacked.file = write_out(*open_member(array_), events);
    unpacked.archived.reset();
    unpacked.data_offset = 0;
    return open_member(unpacked);
  }
  auto inflated = std::make_shared<ScratchFile>(scratch_folder_);
  const std::unique_ptr<RowStream> member = open_member(array_);
  copy(
      *member, [&](Bytes piece) { inflated->append(piece); }, events);
  return open_fortran(fortran(std::move(inflated)), memory_bytes, scratch_folder_, events);
}

// Writes a stream into a file, for rows that are not asked for in order.
std::shared_ptr<const InputFile> ArrayRows::write_out(RowStream& stream,
                                                      const Events& events) const {
  const NamelessFile scratch(scratch_folder_);
  OutputFile file(scratch.duplicate(), scratch.path(),
                  {.io = IoMode::automatic, .buffer_bytes = kCopyBytes, .buffers = 2});
  copy(
      stream, [&](Bytes piece) { file.append(piece); }, events);
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
