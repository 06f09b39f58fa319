#include "shale/layouts/value_reader.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/format/value_checksum.hpp"

namespace shale::layouts {
namespace {

constexpr std::uint64_t kWindow = 256 * 1024, kHeaderWindow = 8 * 1024;

}  // namespace

ValueExtent extent_of(const KeyMapEntry& entry) {
  ValueExtent extent{.page = {},
                     .page_offset = entry.value_offset,
                     .value_offset = entry.value_offset,
                     .value_bytes = entry.value_bytes};
  if (entry.value) extent.page = *entry.value;
  return extent;
}

ValueReader::ValueReader(const InputFile& file, ValueReads reads, WalkPace& pace,
                         const ViewBytes& payload)
    : window_bytes_(reads == ValueReads::headers ? kHeaderWindow : kWindow),
      reads_(reads),
      pace_(pace),
      payload_(payload),
      window_(file, payload_ ? kHeaderWindow : window_bytes_),
      view_([this](std::uint64_t offset, std::uint64_t length) {
        const bool is_in_page = offset >= page_offset_ && offset - page_offset_ <= page_.size() &&
                                length <= page_.size() - (offset - page_offset_);
        return is_in_page ? page_.subspan(offset - page_offset_, length) : read(offset, length);
      }) {}

void ValueReader::enter(const ValueExtent& entry) {
  page_ = entry.page;
  page_offset_ = entry.page_offset;
  is_whole_ = entry.value_bytes <= window_bytes_;
  if (payload_ && !is_whole_) return;
  // The whole value in one read, where it fits: headers and checksums then work in the same window.
  if (reads_ == ValueReads::payload && entry.value_offset != kMissing) {
    (void)view_(entry.value_offset, std::min(entry.value_bytes, window_bytes_));
  }
}

Bytes ValueReader::read(std::uint64_t offset, std::uint64_t length) {
  if (payload_ && is_whole_) return payload_(offset, length);
  const std::uint64_t begin = std::exchange(last_, offset);
  const bool is_near = offset >= begin && offset - begin + length <= window_bytes_;
  if (reads_ != ValueReads::up_to_headers || !is_near) return window_.view(offset, length);
  // A window that continues where it ended: the kernel then reads ahead of it.
  return window_.view(begin, offset - begin + length).subspan(offset - begin);
}

std::uint32_t ValueReader::checksum(const FieldPlace& place) {
  const bool is_stream = payload_ && !is_whole_;
  return crc32c_of_place(place, window_bytes_, pace_, is_stream ? payload_ : view_);
}

}  // namespace shale::layouts
