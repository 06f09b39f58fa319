#include "shale/parquet/hybrid_runs.hpp"

#include <algorithm>
#include <bit>

#include "shale/base/error.hpp"

namespace shale {

unsigned bit_width_of(std::uint32_t most) { return static_cast<unsigned>(std::bit_width(most)); }

void HybridRuns::begin_run() {
  ByteReader in(bytes_.subspan(position_));
  const std::uint64_t header = in.read_varint(), count = header >> 1;
  if (count == 0) throw Error(Code::damaged, "a run of no values");
  is_packed_ = (header & 1) != 0;
  if (is_packed_) {
    if (count > (std::uint64_t{1} << 40)) throw Error(Code::damaged, "a run of {} groups", count);
    // The last group may be cut: only as many of its bytes are there as values need.
    packed_ = position_ + in.offset();
    packed_bytes_ = std::min(count * width_, in.remaining());
    if (packed_bytes_ <= (count - 1) * width_ && width_ > 0)
      throw Error(Code::damaged, "a run of {} groups of 8, of which {} bytes are there", count,
                  packed_bytes_);
    left_ = width_ == 0 ? count * 8 : std::min(count * 8, packed_bytes_ * 8 / width_);
    if (left_ == 0) throw Error(Code::damaged, "a run of values that are not there");
    bit_ = 0;
    position_ = packed_ + packed_bytes_;
    most_ -= std::min(most_, left_);
    return;
  }
  if (count > most_)
    throw Error(Code::damaged, "a run of {} values, {} are left in its page", count, most_);
  most_ -= count;
  value_ = 0;
  for (unsigned shift = 0; shift < width_; shift += 8)
    value_ |= static_cast<std::uint32_t>(in.read_u8()) << shift;
  if (width_ < 32 && value_ >> width_ != 0)
    throw Error(Code::damaged, "a run of {}, which has more than {} bits", value_, width_);
  left_ = count;
  position_ += in.offset();
}

std::uint32_t HybridRuns::unpack() {
  std::uint64_t word = 0;
  const std::uint64_t first = bit_ / 8;
  const std::uint64_t count = std::min<std::uint64_t>(8, packed_bytes_ - first);
  for (std::uint64_t i = 0; i < count && width_ > 0; ++i)
    word |= static_cast<std::uint64_t>(bytes_[packed_ + first + i]) << (8 * i);
  word >>= bit_ % 8;
  bit_ += width_;
  return static_cast<std::uint32_t>(word & ((std::uint64_t{1} << width_) - 1));
}

}  // namespace shale
