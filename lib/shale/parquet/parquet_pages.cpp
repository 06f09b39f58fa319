#include "shale/parquet/parquet_pages.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/parquet/parquet_codec.hpp"

namespace shale {

ParquetPages::ParquetPages(const ViewBytes& view, std::string_view where, const ParquetChunk& chunk,
                           std::uint64_t chunks_end)
    : view_(&view), where_(where), slots_left_(static_cast<std::uint64_t>(chunk.slots)) {
  const ParquetRange range = range_of(chunk, chunks_end, where);
  at_ = range.begin;
  end_ = range.end;
}

std::optional<ParquetPage> ParquetPages::next() {
  while (slots_left_ > 0) {
    if (at_ >= end_)
      throw Error(Code::damaged, "the pages of a column chunk end {} values too early", slots_left_)
          .at(where_, end_);
    const ParquetPage page{read_page_header(*view_, at_, end_, where_), at_};
    const bool is_first = std::exchange(is_first_, false);
    at_ = page.end();
    if (page.header.kind == ParquetPageKind::index) continue;
    if (page.header.kind == ParquetPageKind::dictionary) {
      if (!is_first)
        throw Error(Code::damaged, "a dictionary page that is not the first of its column chunk")
            .at(where_, page.offset);
      return page;
    }
    const auto slots = static_cast<std::uint64_t>(page.header.slots);
    if (slots == 0) continue;
    if (slots > slots_left_)
      throw Error(Code::damaged, "page of {} values, {} left in its column chunk", slots,
                  slots_left_)
          .at(where_, page.offset);
    slots_left_ -= slots;
    return page;
  }
  return std::nullopt;
}

namespace {

// A run of one value takes two bytes; writers may round up what they have of them.
void check_level_bytes(std::uint64_t bytes, const ParquetPageHeader& page) {
  constexpr std::uint64_t kRounding = 4096, kMostBytesOfSlot = 8;
  const std::uint64_t most = std::min(
      kMostPageBytes, kRounding + kMostBytesOfSlot * static_cast<std::uint64_t>(page.slots));
  if (bytes > most)
    throw Error(Code::damaged, "levels of {} bytes for {} values, at most {} are possible", bytes,
                page.slots, most);
}

// A u32 length and so many bytes.
std::vector<std::byte> level_block(const ViewBytes& view, std::uint64_t bytes,
                                   const ParquetPageHeader& page, std::uint64_t& at) {
  if (bytes - at < 4) throw Error(Code::damaged, "page ends within its levels");
  const std::uint64_t length = ByteReader(view(at, 4)).read_u32();
  at += 4;
  if (length > bytes - at)
    throw Error(Code::damaged, "levels of {} bytes, {} left in their page", length, bytes - at);
  check_level_bytes(length, page);
  const Bytes block = view(at, length);
  at += length;
  return {block.begin(), block.end()};
}

}  // namespace

ParquetLevels read_levels(const ViewBytes& view, std::uint64_t bytes, const ParquetPageHeader& page,
                          const ParquetColumn& column) {
  ParquetLevels levels;
  if (page.kind == ParquetPageKind::data_v2) {
    const auto repetition = static_cast<std::uint64_t>(page.repetition_bytes),
               definition = static_cast<std::uint64_t>(page.definition_bytes);
    if (repetition + definition > bytes)
      throw Error(Code::damaged, "levels of {} bytes in a page of {}", repetition + definition,
                  bytes);
    const auto copy = [&](std::uint64_t at, std::uint64_t length) {
      check_level_bytes(length, page);
      const Bytes block = view(at, length);
      return std::vector<std::byte>(block.begin(), block.end());
    };
    if (column.most_repetition > 0) levels.repetition = copy(0, repetition);
    if (column.most_definition > 0) levels.definition = copy(repetition, definition);
    levels.values_begin = repetition + definition;
    return levels;
  }
  const auto refuse = [](ParquetEncoding encoding) {
    if (encoding != ParquetEncoding::rle)
      throw Error(Code::unsupported, "levels in the encoding {}, which is not supported",
                  static_cast<unsigned>(encoding));
  };
  std::uint64_t at = 0;
  if (column.most_repetition > 0) {
    refuse(page.repetition_encoding);
    levels.repetition = level_block(view, bytes, page, at);
  }
  if (column.most_definition > 0) {
    refuse(page.definition_encoding);
    levels.definition = level_block(view, bytes, page, at);
  }
  levels.values_begin = at;
  return levels;
}

}  // namespace shale
