#include "shale/parquet/parquet_slots.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/parquet/parquet_codec.hpp"

namespace shale {
namespace {

ParquetStorage storage_of(const ParquetColumn& column) {
  return {column.leaf.type.value_or(ParquetType::byte_array),
          static_cast<std::uint32_t>(column.leaf.type_length)};
}

std::vector<std::byte> copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

Error ParquetSlots::placed(Error error) const {
  error.at(where_, page_.offset);
  return error;
}

void ParquetSlots::open(const ParquetChunk& chunk) {
  chunk_ = &chunk;
  pages_.emplace(*view_, where_, chunk, chunks_end_);
  page_ = {};
  slots_left_ = 0;
  has_next_ = false;
  dictionary_.reset();
  hold(dictionary_held_, 0);
  places_ = ParquetPlaces(*view_);
}

void ParquetSlots::hold(std::uint64_t& held, std::uint64_t bytes) {
  if (expansion_ != nullptr) expansion_->exchange(held, bytes);
}

void ParquetSlots::count(std::uint64_t bytes) {
  if (expansion_ != nullptr) expansion_->give(bytes);
}

void ParquetSlots::check_page() const {
  constexpr std::uint64_t kPiece = 256 * 1024;
  if (!page_.header.crc) return;
  std::uint32_t crc = 0;
  for (std::uint64_t at = page_.begin(); at < page_.end();) {
    const std::uint64_t length = std::min(kPiece, page_.end() - at);
    crc = crc32((*view_)(at, length), crc);
    at += length;
  }
  if (crc != *page_.header.crc)
    throw Error(Code::damaged, "page has the CRC 0x{:08x}, its header says 0x{:08x}", crc,
                *page_.header.crc);
}

void ParquetSlots::read_dictionary() {
  const auto count = static_cast<std::uint64_t>(page_.header.slots);
  if (use_ == Use::levels) return;
  if (use_ == Use::places) return places_.read_dictionary(page_.begin(), page_.end(), count);
  const auto stored = static_cast<std::uint64_t>(page_.header.stored_bytes);
  const auto unpacked = static_cast<std::uint64_t>(page_.header.uncompressed_bytes);
  if (stored > kMostPageBytes) throw page_too_large(stored);
  hold(dictionary_held_, unpacked);
  dictionary_.emplace(storage_of(*column_),
                      unpack_page(chunk_->codec, (*view_)(page_.begin(), stored), unpacked), count);
}

// What its header counts is what was read of a page.
void ParquetSlots::end_page() {
  const ParquetPageHeader& header = page_.header;
  const bool ends = definitions_.may_end() && repetitions_.may_end() &&
                    (use_ != Use::values || taken_ < present_ || values_.may_end());
  if (!ends)
    throw Error(Code::damaged, "levels or indices go on behind the {} slots of the page",
                static_cast<std::uint64_t>(header.slots));
  if (header.kind != ParquetPageKind::data_v2) return;
  const std::uint64_t nulls = static_cast<std::uint64_t>(header.slots) - present_;
  // Writers differ in what they call a null within a list.
  if (column_->most_repetition == 0 && nulls != static_cast<std::uint64_t>(header.nulls))
    throw Error(Code::damaged, "page has {} values that are null, its header says {}", nulls,
                header.nulls);
  if (rows_ != static_cast<std::uint64_t>(header.rows))
    throw Error(Code::damaged, "page begins {} rows, its header says {}", rows_, header.rows);
}

bool ParquetSlots::begin_page() {
  if (page_.is_data() && page_.header.slots > 0) end_page();
  page_.header.slots = 0;  // who peeks at the end of a chunk comes here twice
  rows_ = present_ = taken_ = 0;
  while (true) {
    const std::optional<ParquetPage> page = pages_->next();
    if (!page) return false;
    page_ = *page;
    if (at_page_) at_page_(page_.offset);
    if (checks_pages_) check_page();
    if (page_.is_data()) break;
    read_dictionary();
  }
  const auto stored = static_cast<std::uint64_t>(page_.header.stored_bytes);
  const bool is_v2 = page_.header.kind == ParquetPageKind::data_v2;
  // Levels of version 2 are never compressed; those of version 1 are, with the values.
  const bool is_unpacked = !is_v2 && !page_.is_stored(chunk_->codec);
  if (is_unpacked) {
    const auto unpacked = static_cast<std::uint64_t>(page_.header.uncompressed_bytes);
    if (stored > kMostPageBytes) throw page_too_large(stored);
    unpacked_ = {};
    hold(page_held_, stored + unpacked);
    unpacked_ = unpack_page(chunk_->codec, (*view_)(page_.begin(), stored), unpacked);
    levels_ = read_levels(
        [this](std::uint64_t offset, std::uint64_t length) {
          return Bytes(unpacked_).subspan(offset, length);
        },
        unpacked_.size(), page_.header, *column_);
  } else {
    levels_ = read_levels(
        [this](std::uint64_t offset, std::uint64_t length) {
          return (*view_)(page_.begin() + offset, length);
        },
        stored, page_.header, *column_);
  }
  slots_left_ = static_cast<std::uint64_t>(page_.header.slots);
  repetitions_ =
      HybridRuns(levels_.repetition, bit_width_of(column_->most_repetition), slots_left_);
  definitions_ =
      HybridRuns(levels_.definition, bit_width_of(column_->most_definition), slots_left_);
  if (use_ == Use::places) {
    if (!page_.is_stored(chunk_->codec))
      throw Error(Code::unsupported, "page is compressed with {}, so its values cannot be located",
                  name_of(chunk_->codec));
    places_.begin_page(page_.header.encoding, page_.begin() + levels_.values_begin, page_.end(),
                       slots_left_);
  } else if (use_ == Use::values) {
    load_values(levels_.values_begin);
  }
  return true;
}

void ParquetSlots::load_values(std::uint64_t values_begin) {
  const bool is_unpacked =
      page_.header.kind == ParquetPageKind::data && !page_.is_stored(chunk_->codec);
  if (!is_unpacked) {
    const std::uint64_t begin = page_.begin() + values_begin, bytes = page_.end() - begin;
    if (bytes > kMostPageBytes) throw page_too_large(bytes);
    const Bytes stored = (*view_)(begin, bytes);
    const auto whole = static_cast<std::uint64_t>(page_.header.uncompressed_bytes);
    unpacked_ = {};
    hold(page_held_, page_.is_stored(chunk_->codec) ? bytes : bytes + whole);
    if (page_.is_stored(chunk_->codec)) {
      unpacked_ = copy_of(stored);
    } else if (whole < values_begin) {
      throw Error(Code::damaged, "levels of {} bytes, more than the {} of the unpacked page",
                  values_begin, whole);
    } else {
      unpacked_ = unpack_page(chunk_->codec, stored, whole - values_begin);
    }
    values_begin = 0;
  }
  values_ = ParquetValues(storage_of(*column_), page_.header.encoding,
                          Bytes(unpacked_).subspan(values_begin),
                          dictionary_ ? &*dictionary_ : nullptr, slots_left_);
}

void ParquetSlots::peek() {
  if (has_next_) return;
  while (slots_left_ == 0) {
    if (!begin_page()) return;
  }
  next_repetition_ = column_->most_repetition > 0 ? repetitions_.next() : 0;
  if (next_repetition_ > column_->most_repetition)
    throw Error(Code::damaged, "repetition level {}, at most {} is possible", next_repetition_,
                column_->most_repetition);
  has_next_ = true;
}

bool ParquetSlots::next() try {
  peek();
  if (!has_next_) return false;
  has_next_ = false;
  --slots_left_;
  repetition_ = next_repetition_;
  if (repetition_ == 0) ++rows_;
  definition_ = column_->most_definition > 0 ? definitions_.next() : 0;
  if (definition_ > column_->most_definition)
    throw Error(Code::damaged, "definition level {}, at most {} is possible", definition_,
                column_->most_definition);
  if (has_value()) ++present_;
  return true;
} catch (const Error& error) {
  throw placed(error);
}

bool ParquetSlots::row_goes_on() try {
  if (column_->most_repetition == 0) return false;
  peek();
  return has_next_ && next_repetition_ > 0;
} catch (const Error& error) {
  throw placed(error);
}

Bytes ParquetSlots::value() try {
  ++taken_;
  const Bytes value = values_.next();
  count(value.size());
  return value;
} catch (const Error& error) {
  throw placed(error);
}

ParquetPlace ParquetSlots::place() try {
  const ParquetPlace place = places_.next();
  count(place.length);
  return place;
} catch (const Error& error) {
  throw placed(error);
}

}  // namespace shale
