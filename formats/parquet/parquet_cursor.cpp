#include "formats/parquet/parquet_cursor.hpp"

#include <algorithm>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/format/format.hpp"
#include "shale/parquet/parquet_footer.hpp"

namespace shale {
namespace {

// Of the levels of one kind: two runs.
constexpr std::uint64_t kMostBytesOfRow = 14, kMostBytesOfInner = 8;
constexpr std::uint64_t kPageAtOnce = 2 << 20, kRun = 256 * 1024;

}  // namespace

ParquetCursor::ParquetCursor(const ParquetLeaf& leaf, const InputFile& file, std::uint64_t begin,
                             std::uint64_t end, std::uint64_t rows, std::uint64_t window_bytes)
    : leaf_(&leaf),
      file_(&file),
      window_(std::make_unique<WindowReader>(file, window_bytes)),
      at_(begin),
      end_(end),
      most_level_bytes_(rows * kMostBytesOfRow),
      levels_(leaf) {
  if (leaf.inner > 1) most_level_bytes_ += kMostNestedBytes / leaf.slot_bytes() * kMostBytesOfInner;
}

void ParquetCursor::fail(std::string_view message, std::uint64_t offset) const {
  throw Error(Code::damaged, "{}", message).at(file_->path(), offset);
}

ParquetCursor::Row ParquetCursor::next(bool reads_pages) {
  Row row;
  if (slots_left_ == 0) {
    leave_page();
    enter_page(reads_pages);
    row.begins_page = true;
  }
  row.levels = take_row();
  if (row.levels.is_absent && !leaf_->is_optional)
    fail("a value of a field that is not optional is absent", body_);
  levels_.add(row.levels);
  if (!leaf_->is_path && !row.levels.is_absent) take_values(row);
  return row;
}

RowLevels ParquetCursor::take_row() {
  const std::uint32_t value_level = leaf_->is_path ? leaf_->value_level - 1 : leaf_->value_level;
  const std::uint32_t level = take_level(definition_);
  --slots_left_;
  if (!leaf_->is_list) {
    if (level != 0 && level != value_level)
      fail("a definition level that shale does not write", body_);
    return {.is_absent = level == 0};
  }
  if (take_level(repetition_) != 0) fail("a row that begins within a list", body_);
  if (level < 2) return {.is_absent = level == 0, .elements = 0};
  const std::uint64_t elements = take_elements(),
                      more = elements * std::max<std::uint64_t>(leaf_->inner, 1) - 1;
  if (more >= kMaxElements && leaf_->item_bytes == 0) fail("a list of too many elements", body_);
  if (more > 0 && take_level(definition_, more) != level)
    fail("a list whose elements are not alike", body_);
  if (level != value_level) fail("a definition level that shale does not write", body_);
  slots_left_ -= more;
  return {.elements = elements};
}

// Of a list that has begun with its first slot.
std::uint64_t ParquetCursor::take_elements() {
  const auto take_inner = [this] {
    if (leaf_->inner > 1 && take_level(repetition_, leaf_->inner - 1) != 2)
      fail("an inner list of another length", body_);
  };
  std::uint64_t elements = 1;
  take_inner();
  while (!repetition_.empty() && repetition_.back().level == 1) {
    const std::uint64_t begun = repetition_.back().slots;
    (void)take_level(repetition_, begun);
    if (leaf_->inner > 1 && begun > 1) fail("an inner list of another length", body_);
    take_inner();
    elements += begun;
  }
  return elements;
}

std::uint32_t ParquetCursor::take_level(Runs& runs, std::uint64_t slots) {
  if (runs.empty() || runs.back().slots < slots) fail("levels end before the values", body_);
  const std::uint32_t level = runs.back().level;
  runs.back().slots -= slots;
  if (runs.back().slots == 0) runs.pop_back();
  return level;
}

void ParquetCursor::take_values(Row& row) {
  const std::uint64_t left = body_end_ - next_;
  const auto take_length = [&](std::uint64_t rest) -> std::uint64_t {
    if (rest < kValueLengthBytes) fail("a page ends within a value", next_);
    const std::uint32_t length = ByteReader(view(body_end_ - rest, kValueLengthBytes)).read_u32();
    if (length > rest - kValueLengthBytes)
      fail("a value is longer than its page", body_end_ - rest);
    return kValueLengthBytes + length;
  };
  if (leaf_->type == ParquetType::boolean) {
    row.stored = 1;
    ++bits_;
    next_ = values_ + (bits_ + 7) / 8;
    if (next_ > body_end_) fail("a page ends within a value", next_);
    return;
  }
  std::uint64_t bytes = 0;
  if (leaf_->adds_length()) {
    bytes = take_length(left);
    row.place = {.offset = next_ + kValueLengthBytes, .length = bytes - kValueLengthBytes};
  } else if (leaf_->is_of_bytes()) {
    for (std::uint64_t i = 0; i < row.levels.elements; ++i) bytes += take_length(left - bytes);
    row.place = {
        .offset = next_, .length = bytes, .count = static_cast<std::uint32_t>(row.levels.elements)};
  } else {
    if (row.levels.elements > left / leaf_->slot_bytes()) fail("a page ends within a value", next_);
    bytes = row.levels.elements * leaf_->slot_bytes();
    row.place = {.offset = next_, .length = bytes};
  }
  row.stored = row.place.length;
  next_ += bytes;
}

bool ParquetCursor::last_bit() {
  const std::uint64_t bit = bits_ - 1;
  return (std::to_integer<unsigned>(view(values_ + bit / 8, 1)[0]) >> (bit % 8) & 1U) != 0;
}

void ParquetCursor::enter_page(bool reads_pages) {
  if (at_ >= end_) fail("a column has fewer values than its row group has rows", at_);
  header_ = at_;
  const ParquetPageHeader header = read_page_header(window_->views(), at_, end_, file_->path());
  body_ = at_ + header.header_bytes;
  body_end_ = body_ + static_cast<std::uint64_t>(header.stored_bytes);
  if (body_end_ > end_) fail("a page is larger than its column", at_);
  const auto slots = static_cast<std::uint64_t>(header.slots);
  const std::vector<std::byte> expected =
      data_page_header(body_end_ - body_, header.crc.value_or(0), slots);
  if (!std::ranges::equal(view(at_, header.header_bytes), expected))
    fail("the header of a page is not as shale writes it", at_);
  if (slots == 0) fail("a page without values", at_);
  is_page_sound_ = true;
  if (reads_pages) {
    std::uint32_t crc = 0;
    const std::uint64_t size = body_end_ - body_, run = size <= kPageAtOnce ? size : kRun;
    for (std::uint64_t done = 0; done < size; done += run)
      crc = crc32(view(body_ + done, std::min(run, size - done)), crc);
    is_page_sound_ = crc == *header.crc;
  }
  next_ = body_;
  repetition_ = leaf_->is_list ? read_levels(slots) : Runs();
  definition_ = read_levels(slots);
  values_ = next_;
  slots_left_ = slots;
  bits_ = 0;
  at_ = body_end_;
}

ParquetCursor::Runs ParquetCursor::read_levels(std::uint64_t slots) {
  if (body_end_ - next_ < kValueLengthBytes) fail("a page ends within its levels", next_);
  const std::uint32_t length = ByteReader(view(next_, kValueLengthBytes)).read_u32();
  if (length > body_end_ - next_ - kValueLengthBytes || length > most_level_bytes_)
    fail("the levels of a page are longer than the page", next_);
  Runs runs;
  std::uint64_t sum = 0;
  ByteReader in(view(next_ + kValueLengthBytes, length), file_->path(), next_ + kValueLengthBytes);
  while (!in.at_end()) {
    const std::uint64_t head = in.read_varint();
    if (head % 2 != 0 || head == 0 || head / 2 > slots - sum)
      fail("levels that are not as shale writes them", next_);
    sum += head / 2;
    runs.push_back({in.read_u8(), head / 2});
  }
  if (sum != slots) fail("levels that are not as shale writes them", next_);
  std::ranges::reverse(runs);
  next_ += kValueLengthBytes + length;
  return runs;
}

void ParquetCursor::leave_page() {
  if (levels_.rows() == 0) return;
  if (next_ != body_end_) fail("bytes after the values of a page", next_);
  // The same levels may be written in many ways, and shale has one.
  const std::vector<std::byte> expected = levels_.bytes();
  if (expected.size() != values_ - body_ ||
      !std::ranges::equal(view(body_, values_ - body_), expected))
    fail("levels that are not as shale writes them", body_);
  WrittenPage page = page_facts(*leaf_, levels_, page_bounds_, rows_);
  page.offset = header_;
  page.bytes = body_end_ - header_;
  chunk_.pages.push_back(std::move(page));
  rows_ += levels_.rows();
  chunk_bounds_.add(page_bounds_);
  page_bounds_ = {};
  levels_.clear();
}

WrittenChunk ParquetCursor::finish() {
  if (slots_left_ != 0 || at_ != end_)
    fail("a column has more values than its row group has rows", at_);
  leave_page();
  finish_chunk(*leaf_, chunk_bounds_, chunk_);
  return std::move(chunk_);
}

}  // namespace shale
