#include "shale/arrays/open_member.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shale/arrays/member_bytes.hpp"
#include "shale/base/error.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostReadAtOnce = 3 << 20;
constexpr std::uint64_t kSparse = 16;  // a row of which a smaller part is wanted is not read whole

class MemberStream final : public RowStream {
 public:
  explicit MemberStream(const ArrayFile& array)
      : file_(array.file), bytes_(*array.file, *array.archived) {
    std::vector<std::byte> header(array.archived->bytes - array.bytes());
    bytes_.read(header);
  }
  void read_rows(std::span<std::byte> into) override { bytes_.read(into); }

 private:
  std::shared_ptr<const InputFile> file_;
  MemberBytes bytes_;
};

// The rows of an array whose axes may run in any order and with any step, as a view of a tensor
// does. A row that lies densely is read at once, any other one run of elements after the other.
class StridedStream final : public RowStream {
 public:
  explicit StridedStream(const ArrayFile& array)
      : array_(array), item_bytes_(array.dtype.item_bytes()), window_(*array_.file) {
    std::size_t axes = array_.shape.size();
    run_bytes_ = item_bytes_;
    // The last axes, as long as their elements lie one after the other, are one run.
    while (axes > 1 && step_of(axes - 1) == run_bytes_) run_bytes_ *= array_.shape[--axes];
    std::uint64_t span = run_bytes_;
    row_bytes_ = run_bytes_;
    for (std::size_t axis = 1; axis < axes; ++axis) {
      axes_.push_back({array_.shape[axis], step_of(axis)});
      row_bytes_ *= array_.shape[axis];
      if (array_.shape[axis] > 0) span += (array_.shape[axis] - 1) * step_of(axis);
    }
    span_ = span <= kMostReadAtOnce && span / kSparse <= row_bytes_ ? span : 0;
    index_.resize(axes_.size());
  }

  void read_rows(std::span<std::byte> into) override {
    if (row_bytes_ == 0) return;
    for (; !into.empty(); into = into.subspan(row_bytes_)) {
      const std::uint64_t begin = array_.data_offset + row_++ * step_of(0);
      const Bytes row = span_ > 0 ? window_.view(begin, span_) : Bytes();
      for (std::uint64_t done = 0; done < row_bytes_; done += run_bytes_) {
        const std::uint64_t offset = next_run();
        const Bytes run = span_ > 0 ? row.subspan(offset, run_bytes_)
                                    : view_run(begin + offset, into.subspan(done, run_bytes_));
        if (!run.empty()) std::memcpy(into.data() + done, run.data(), run_bytes_);
      }
    }
  }

 private:
  struct Axis {
    std::uint64_t length, step;
  };

  [[nodiscard]] std::uint64_t step_of(std::size_t axis) const {
    return array_.strides[axis] * item_bytes_;
  }

  // A large run is read where it is wanted: there is nothing to copy then.
  Bytes view_run(std::uint64_t offset, std::span<std::byte> into) {
    if (run_bytes_ <= kMostReadAtOnce) return window_.view(offset, run_bytes_);
    array_.file->read_exact(offset, into);
    return {};
  }

  // Where it begins, from the beginning of the row; after the last one comes the first again.
  std::uint64_t next_run() {
    std::uint64_t offset = 0;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      offset += index_[axis] * axes_[axis].step;
    for (std::size_t axis = axes_.size(); axis-- > 0;) {
      if (++index_[axis] < axes_[axis].length) break;
      index_[axis] = 0;
    }
    return offset;
  }

  const ArrayFile array_;
  const std::uint64_t item_bytes_;
  WindowReader window_;
  std::vector<Axis> axes_;  // those between the rows and the runs
  std::vector<std::uint64_t> index_;
  std::uint64_t run_bytes_ = 0, row_bytes_ = 0, row_ = 0;
  std::uint64_t span_ = 0;  // of a row that is read whole; else 0
};

}  // namespace

std::unique_ptr<RowStream> open_member(const ArrayFile& array) {
  if (array.is_located()) {
    throw Error(Code::bug, "a stream was requested of an array that lies in its file")
        .at(array.file->path());
  }
  if (!array.archived) return std::make_unique<StridedStream>(array);
  return std::make_unique<MemberStream>(array);
}

}  // namespace shale
