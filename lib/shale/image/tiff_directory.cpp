//  TIFF        "II" (little-endian) or "MM" (big-endian), +2 u16 42, +4 u32 offset of a directory
//  directory   u16 number of entries, the entries, u32 offset of the next directory or 0
//  entry       u16 tag, u16 type, u32 count, 4 bytes: the values, or the offset of longer ones
//  BigTIFF     +2 u16 43, +8 u64 offset; u64 number of entries and u64 next directory; in an
//              entry u64 count and 8 bytes for values or offset
//  type        1 u8, 2 text, 3 u16, 4 u32, 5 two u32, 6 i8, 7 bytes, 8 i16, 9 i32, 10 two i32,
//              11 f32, 12 f64, 13 u32 (offset), 16 u64, 17 i64, 18 u64 (offset)
//  Source: Adobe, TIFF 6.0 section 2; BigTIFF: libtiff's bigtiff.rst.

#include "shale/image/tiff_directory.hpp"

#include <algorithm>
#include <iterator>

namespace shale {
namespace {

// Tags are distinct, and real files have a few dozen; a crafted file could be searched for long.
constexpr std::uint64_t kEntryLimit = 4096;

std::endian order_of(Bytes tiff) {
  return !tiff.empty() && tiff[0] == std::byte{'M'} ? std::endian::big : std::endian::little;
}

// Bytes of one value, and whether it is an unsigned integer. Width 0: a type of the future.
struct ValueType {
  unsigned width;
  bool is_unsigned;
};
ValueType value_type(unsigned type) {
  constexpr ValueType kTypes[] = {{0, false}, {1, true},  {1, false}, {2, true},  {4, true},
                                  {8, false}, {1, false}, {1, false}, {2, false}, {4, false},
                                  {8, false}, {4, false}, {8, false}, {4, true},  {0, false},
                                  {0, false}, {8, true},  {8, false}, {8, true}};
  return type < std::size(kTypes) ? kTypes[type] : kTypes[0];
}

constexpr unsigned kFirstPrivateTag = 32768;

std::uint64_t first_directory(Bytes tiff) {
  const HeaderView view(tiff, order_of(tiff));
  return view.u16(2) == 43 ? view.u64(8) : view.u32(4);
}

}  // namespace

TiffDirectory::TiffDirectory(Bytes tiff) : TiffDirectory(tiff, first_directory(tiff)) {}

TiffDirectory::TiffDirectory(Bytes tiff, std::uint64_t begin)
    : view_(tiff, order_of(tiff)), is_big_(view_.u16(2) == 43), tiff_(tiff) {
  const std::uint64_t count_bytes = is_big_ ? 8 : 2, entry_bytes = is_big_ ? 20 : 12;
  first_entry_ = capped_sum(begin, count_bytes);
  end_ = first_entry_;
  if (!view_.has(begin, count_bytes)) return;
  const std::uint64_t claimed = is_big_ ? view_.u64(begin) : view_.u16(begin);
  const std::uint64_t next_bytes = is_big_ ? 8 : 4;
  end_ = capped_sum(first_entry_, capped_sum(capped_product(claimed, entry_bytes), next_bytes));
  const std::uint64_t next_at = capped_sum(first_entry_, capped_product(claimed, entry_bytes));
  next_ = is_big_ ? view_.u64(next_at) : view_.u32(next_at);
  entries_ = std::min({claimed, (view_.size() - first_entry_) / entry_bytes, kEntryLimit});
  for (std::uint64_t i = 0; i < entries_; ++i) {
    const Entry entry = read_entry(i);
    const std::uint64_t length = capped_product(entry.values.count, entry.values.width);
    if (entry.tag >= kFirstPrivateTag) continue;
    end_ = std::max(end_, capped_sum(entry.values.offset, length));
  }
}

// Directories may refer to one another in a circle: a few tell whether there is a page.
bool TiffDirectory::has_more_pages() const {
  constexpr unsigned kSubfileType = 254, kMostLooked = 64;
  constexpr std::uint64_t kSmallerCopy = 1, kMaskOfAnother = 4;
  std::uint64_t at = next_;
  for (unsigned looked = 0; at != 0 && at < view_.size() && looked < kMostLooked; ++looked) {
    const TiffDirectory page(tiff_, at);
    if (page.entries_ == 0) return false;
    if ((page.number(kSubfileType, 0) & (kSmallerCopy | kMaskOfAnother)) == 0) return true;
    at = page.next_;
  }
  return false;
}

TiffDirectory::Entry TiffDirectory::read_entry(std::uint64_t nth) const {
  const std::uint64_t entry_bytes = is_big_ ? 20 : 12, inline_bytes = is_big_ ? 8 : 4;
  const std::uint64_t at = first_entry_ + nth * entry_bytes;
  const ValueType type = value_type(view_.u16(at + 2));
  Entry entry{.tag = view_.u16(at), .is_unsigned = type.is_unsigned, .values = {}};
  entry.values.width = type.width;
  entry.values.count = is_big_ ? view_.u64(at + 4) : view_.u32(at + 4);
  entry.values.offset = at + entry_bytes - inline_bytes;
  if (capped_product(entry.values.count, type.width) > inline_bytes) {
    entry.values.offset = is_big_ ? view_.u64(entry.values.offset) : view_.u32(entry.values.offset);
  }
  return entry;
}

std::optional<TiffDirectory::Values> TiffDirectory::find(unsigned tag) const {
  for (std::uint64_t i = 0; i < entries_; ++i) {
    const Entry entry = read_entry(i);
    if (entry.tag != tag) continue;
    if (!entry.is_unsigned || entry.values.count == 0) return std::nullopt;
    return entry.values;
  }
  return std::nullopt;
}

std::uint64_t TiffDirectory::value(const Values& values, std::uint64_t nth) const {
  const std::uint64_t at = capped_sum(values.offset, capped_product(nth, values.width));
  switch (values.width) {
    case 1:
      return view_.u8(at);
    case 2:
      return view_.u16(at);
    case 4:
      return view_.u32(at);
    default:
      return view_.u64(at);
  }
}

std::uint64_t TiffDirectory::number(unsigned tag, std::uint64_t otherwise) const {
  const std::optional<Values> values = find(tag);
  return values ? value(*values, 0) : otherwise;
}

}  // namespace shale
