#include "shale/arrays/located_rows.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/io/read_errors.hpp"

namespace shale {
namespace {

// Bytes between two ranges that cost less to read than a read of their own would.
constexpr std::uint64_t kGapBytes = 16 << 10;
// Stretches are read in requests of this size, so that one alone keeps a disk busy too.
constexpr std::uint64_t kRequestBytes = 512 << 10;
constexpr std::size_t kOpenFiles = 64;

}  // namespace

LocatedRows::LocatedRows(std::uint64_t row_bytes, std::uint64_t item_bytes,
                         std::vector<Segment> segments)
    : row_bytes_(row_bytes), item_bytes_(item_bytes) {
  std::uint64_t rows = 0;
  for (Segment& segment : segments) {
    if (segment.rows == 0) continue;
    first_row_.push_back(rows);
    rows += segment.rows;
    segments_.push_back(std::move(segment));
  }
  first_row_.push_back(rows);
}

std::size_t LocatedRows::segment_of(std::uint64_t row) const {
  const auto after = std::upper_bound(first_row_.begin(), first_row_.end(), row);
  return static_cast<std::size_t>(after - first_row_.begin()) - 1;
}

LocatedRows::OpenFile LocatedRows::open(std::size_t segment) const {
  const std::lock_guard lock(mutex_);
  for (const OpenFile& open : open_) {
    if (open.segment == segment) return open;
  }
  // Oldest out: whoever reads from it still shares it.
  if (open_.size() == kOpenFiles) open_.erase(open_.begin());
  std::shared_ptr<const InputFile> file = segments_[segment].file;
  if (!file) file = std::make_shared<const InputFile>(segments_[segment].path);
  const bool is_direct = file->go_direct();
  return open_.emplace_back(OpenFile{segment, std::move(file), is_direct});
}

struct RowLoader::Stretch {
  LocatedRows::OpenFile from;
  std::uint64_t begin, end;  // in the file: whole pages
  std::uint64_t needed_end;  // of the last range: the file may end before the page does
  std::uint64_t at;          // in the memory
  std::size_t first, last;   // the ranges that lie in it
};

RowLoader::RowLoader(const LocatedRows& rows, std::uint64_t memory_bytes)
    : rows_(rows), memory_bytes_(aligned_down(memory_bytes)), reader_({.depth = 32}) {}

std::size_t RowLoader::load(std::span<const ColumnRange> ranges) {
  std::vector<Stretch> stretches;
  std::vector<std::uint64_t> places;  // in the memory, of each range
  std::uint64_t used = 0;
  for (const ColumnRange& range : ranges) {
    const std::uint64_t row = rows_.row_bytes_ == 0 ? 0 : range.begin / rows_.row_bytes_;
    Stretch* last = stretches.empty() ? nullptr : &stretches.back();
    std::size_t segment = last != nullptr ? last->from.segment : 0;
    if (last == nullptr || row >= rows_.first_row_[segment + 1]) segment = rows_.segment_of(row);
    const std::uint64_t offset = rows_.segments_[segment].offset + range.begin -
                                 rows_.first_row_[segment] * rows_.row_bytes_;
    const std::uint64_t begin = aligned_down(offset), end = aligned_up(offset + range.bytes);
    const bool joins =
        last != nullptr && last->from.segment == segment && begin <= last->end + kGapBytes;
    const std::uint64_t more = joins ? std::max(end, last->end) - last->end : end - begin;
    if (used + more > memory_bytes_) break;
    if (joins) {
      last->end += more;
      last->needed_end = std::max(last->needed_end, offset + range.bytes);
      last->last += 1;
    } else {
      stretches.push_back({.from = rows_.open(segment),
                           .begin = begin,
                           .end = end,
                           .needed_end = offset + range.bytes,
                           .at = used,
                           .first = places.size(),
                           .last = places.size() + 1});
      last = &stretches.back();
    }
    used += more;
    places.push_back(last->at + offset - last->begin);
  }
  if (places.empty() && !ranges.empty()) {
    throw Error(Code::bug, "{} bytes to be read at once into {} of memory", ranges.front().bytes,
                memory_bytes_);
  }
  // All of it the first time, touched as far as it is used: it need not grow with each larger load.
  const std::span<std::byte> memory = buffer_.require(memory_bytes_);
  loaded_.clear();
  for (std::size_t i = 0; i < places.size(); ++i)
    loaded_.push_back(memory.subspan(places[i], ranges[i].bytes));
  read(stretches);
  turn_around(stretches, ranges);
  return places.size();
}

void RowLoader::read(std::span<const Stretch> stretches) {
  const std::span<std::byte> memory = buffer_.require(1);
  std::vector<ReadRequest> requests;
  std::vector<const Stretch*> stretch_of;
  for (const Stretch& stretch : stretches) {
    for (std::uint64_t begin = stretch.begin; begin < stretch.end; begin += kRequestBytes) {
      const std::uint64_t bytes = std::min(kRequestBytes, stretch.end - begin);
      std::byte* into = memory.data() + stretch.at + (begin - stretch.begin);
      requests.push_back(
          {.descriptor = stretch.from.file->descriptor(), .offset = begin, .into = {into, bytes}});
      stretch_of.push_back(&stretch);
    }
  }
  const std::vector<ReadResult> results = reader_.read(requests);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Stretch& stretch = *stretch_of[i];
    const std::uint64_t end = requests[i].offset + requests[i].into.size();
    const std::uint64_t needed = std::min(end, stretch.needed_end) - requests[i].offset;
    require_all(results[i], stretch.from.file->path(), requests[i].offset, needed);
  }
}

// Ranges may overlap: no byte is turned twice.
void RowLoader::turn_around(std::span<const Stretch> stretches,
                            std::span<const ColumnRange> ranges) {
  std::uint64_t turned = 0;  // of the column
  for (const Stretch& stretch : stretches) {
    const std::vector<ByteSwap>& swaps = rows_.segments_[stretch.from.segment].swaps;
    if (swaps.empty()) continue;
    for (std::size_t i = stretch.first; i < stretch.last; ++i) {
      const std::uint64_t end = ranges[i].begin + ranges[i].bytes;
      if (end <= turned) continue;
      const std::uint64_t fresh = std::min(end - turned, ranges[i].bytes);
      swap_bytes(loaded_[i].last(fresh), rows_.item_bytes_, swaps);
      turned = end;
    }
  }
}

}  // namespace shale
