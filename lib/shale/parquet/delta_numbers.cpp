#include "shale/parquet/delta_numbers.hpp"

#include "shale/base/error.hpp"

namespace shale {
namespace {

std::uint64_t unzigzag(std::uint64_t coded) { return coded >> 1 ^ (0 - (coded & 1)); }

}  // namespace

DeltaNumbers::DeltaNumbers(Bytes bytes) : bytes_(bytes) {
  ByteReader in(bytes);
  const std::uint64_t block = in.read_varint();
  miniblocks_ = in.read_varint();
  count_ = left_ = in.read_varint();
  value_ = unzigzag(in.read_varint());
  if (block == 0 || block % 128 != 0 || block > (1 << 24) || miniblocks_ == 0 ||
      block % miniblocks_ != 0 || block / miniblocks_ % 32 != 0)
    throw Error(Code::damaged, "deltas in blocks of {} and miniblocks of {}, which cannot be",
                block, miniblocks_);
  per_miniblock_ = block / miniblocks_;
  miniblock_ = miniblocks_;  // none is open
  in_miniblock_ = per_miniblock_;
  position_ = in.offset();
}

void DeltaNumbers::begin_block() {
  ByteReader in(bytes_.subspan(position_));
  least_ = unzigzag(in.read_varint());
  widths_ = in.read_bytes(miniblocks_);
  position_ += in.offset();
  miniblock_ = 0;
}

std::uint64_t DeltaNumbers::delta() {
  if (in_miniblock_ == per_miniblock_) {
    if (miniblock_ == miniblocks_) begin_block();
    const auto width = static_cast<std::uint64_t>(widths_[miniblock_]);
    if (width > 64) throw Error(Code::damaged, "deltas of {} bits", width);
    ++miniblock_;
    in_miniblock_ = 0;
    begin_ = position_;
    const std::uint64_t bytes = per_miniblock_ / 8 * width;
    if (bytes > bytes_.size() - position_)
      throw Error(Code::damaged, "deltas of {} bytes, {} left", bytes, bytes_.size() - position_);
    position_ += bytes;
  }
  const auto width = static_cast<std::uint64_t>(widths_[miniblock_ - 1]);
  std::uint64_t bit = in_miniblock_++ * width, value = 0;
  for (std::uint64_t done = 0; done < width;) {
    const auto byte = static_cast<std::uint64_t>(bytes_[begin_ + bit / 8]) >> (bit % 8);
    value |= byte << done;
    const std::uint64_t taken = 8 - bit % 8;
    done += taken;
    bit += taken;
  }
  return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

std::int64_t DeltaNumbers::next() {
  if (left_ == 0) throw Error(Code::damaged, "more values than the {} deltas of its page", count_);
  --left_;
  if (!is_first_) {
    const std::uint64_t above_least = delta();  // first: it may begin a block
    value_ += least_ + above_least;
  }
  is_first_ = false;
  return static_cast<std::int64_t>(value_);
}

}  // namespace shale
