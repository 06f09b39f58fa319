#include "formats/lmdb/lmdb_meta.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"

#include "formats/lmdb/lmdb_page.hpp"

namespace shale::lmdb {
namespace {

constexpr std::uint64_t kLeastPageBytes = 512, kMostPageBytes = 65'536;
// What a meta page says of the trees, from its magic to the last page; a transaction follows.
constexpr std::uint64_t kTreesBegin = kPageHeaderBytes, kTreesEnd = kTreesBegin + 128;
constexpr std::string_view kConvertHint =
    "copy the entries with the program that wrote it into a file of LMDB 0.9 (64-bit)";

constexpr std::uint32_t byte_swapped(std::uint32_t value) {
  return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

TreeRecord read_tree(ByteReader& in) {
  TreeRecord tree;
  in.skip(sizeof(std::uint32_t));  // the page size of the main one, or nothing
  tree.flags = in.read_u16();
  tree.depth = in.read_u16();
  tree.branch_pages = in.read_u64();
  tree.leaf_pages = in.read_u64();
  tree.overflow_pages = in.read_u64();
  tree.entries = in.read_u64();
  tree.root = in.read_u64();
  return tree;
}

// Reads the meta page at `offset`. Errors: Code::damaged, Code::unsupported.
MetaPage read_meta(const InputFile& file, std::uint64_t offset, std::uint64_t number) {
  std::array<std::byte, kMetaBytes> page{};
  file.read_exact(offset, page);
  if (const std::string_view relative = relative_of(page); number == 0 && !relative.empty()) {
    throw Error(Code::unsupported, "an LMDB file of {}, whose layout differs", relative)
        .at(file.path(), 0)
        .hint(kConvertHint);
  }
  ByteReader in(page, file.path(), offset);
  const std::uint64_t found_number = in.read_u64();
  in.skip(sizeof(std::uint16_t));
  const std::uint16_t flags = in.read_u16();
  in.skip(sizeof(std::uint32_t));
  const std::uint32_t magic = in.read_u32(), version = in.read_u32();
  if (magic != kMagic) {
    throw Error(Code::damaged, "magic of LMDB is {:#010x}, expected {:#010x}", magic, kMagic)
        .at(file.path(), offset + kPageHeaderBytes);
  }
  if (version != kVersion) {
    throw Error(Code::unsupported, "unsupported LMDB data version {}{}, only {} is supported",
                version, version == 999 ? " (of a development build)" : "", kVersion)
        .at(file.path(), offset)
        .hint(kConvertHint);
  }
  if (found_number != number || flags != kMetaPage) {
    throw Error(Code::damaged, "page {} with flags {:#06x} where meta page {} should be",
                found_number, flags, number)
        .at(file.path(), offset);
  }
  in.skip(sizeof(std::uint64_t));  // address of a map: nothing here maps
  const std::uint64_t map_bytes = in.read_u64();
  MetaPage meta{.offset = offset, .page_bytes = 0, .map_bytes = map_bytes};
  meta.page_bytes = number_at(page, in.offset() - offset);
  meta.free_tree = read_tree(in);
  meta.main_tree = read_tree(in);
  meta.last_page = in.read_u64();
  meta.transaction = in.read_u64();
  if (!std::has_single_bit(meta.page_bytes) || meta.page_bytes < kLeastPageBytes ||
      meta.page_bytes > kMostPageBytes) {
    throw Error(Code::damaged, "pages of {} bytes, which is not a power of two from {} to {}",
                meta.page_bytes, kLeastPageBytes, kMostPageBytes)
        .at(file.path(), offset);
  }
  return meta;
}

// Transactions write the two pages in turn, even ones page 0, odd ones page 1; a new file has 0 in
// both. What is wrong with these two; empty if nothing. It is what tells that a damaged number
// makes an older state count.
std::string turn_fault(const MetaPage& first, const MetaPage& second) {
  const std::uint64_t even = first.transaction, odd = second.transaction;
  const bool are_in_turn = (even & 1) == 0 && (even > odd ? even - odd == 1 : odd - even == 1);
  if (!are_in_turn && (even != 0 || odd != 0)) return "not consecutive";
  const MetaPage& older = even < odd ? first : second;
  const MetaPage& newer = even < odd ? second : first;
  // Pages are never given back.
  if (older.last_page > newer.last_page) return "the newer one has fewer pages";
  // Shale writes the same tree into both.
  const bool is_used = older.transaction == 0 && older.main_tree.root != kNoPage &&
                       older.main_tree.root != newer.main_tree.root;
  return is_used ? "entries before the first transaction" : "";
}

// Where the first one does not say how large a page is.
std::optional<MetaPage> second_alone(const InputFile& file) {
  for (std::uint64_t bytes = kLeastPageBytes; bytes <= kMostPageBytes; bytes *= 2) {
    if (file.size() < bytes + kMetaBytes) break;
    try {
      const MetaPage second = read_meta(file, bytes, 1);
      if (second.page_bytes == bytes) return second;
    } catch (const Error& error) {
      if (error.code() == Code::io) throw;
    }
  }
  return std::nullopt;
}

}  // namespace

TreeRecord read_tree_record(Bytes record) {
  ByteReader in(record);
  return read_tree(in);
}

std::uint32_t number_at(Bytes head, std::uint64_t offset) {
  return offset + 4 > head.size() ? 0 : ByteReader(head.subspan(offset)).read_u32();
}

std::string_view relative_of(Bytes head) {
  constexpr std::uint64_t k32BitHeader = 12, kVersionOneHeader = 24;
  if (number_at(head, kVersionOneHeader) == kMagic) return "LMDB 1.0 or a preview of it";
  if (number_at(head, k32BitHeader) == kMagic) return "a 32-bit program";
  return number_at(head, kPageHeaderBytes) == byte_swapped(kMagic) ? "a big-endian machine" : "";
}

void refuse_sorted_duplicates(const MetaPage& meta, const InputFile& file) {
  if ((meta.main_tree.flags & kDupSort) == 0) return;
  throw Error(Code::unsupported, "keys of this LMDB file have sorted duplicates (MDB_DUPSORT)")
      .at(file.path(), meta.offset)
      .hint("'shale convert' takes it by itself, without --parse: each value becomes a sample");
}

MetaPage read_live_meta(const InputFile& file, const FindingSink& findings) {
  Finding finding;
  finding.file = file.name();
  MetaPage first;
  try {
    first = read_meta(file, 0, 0);
  } catch (const Error& error) {
    if (error.code() == Code::io) throw;
    const std::optional<MetaPage> second = second_alone(file);
    if (!second) throw;
    finding.message = fmt::format("the first meta page is unusable ({})", error.message());
    finding.offset = 0;
    findings(std::move(finding));
    return *second;
  }
  finding.offset = first.page_bytes;
  std::optional<MetaPage> second;
  try {
    second = read_meta(file, first.page_bytes, 1);
  } catch (const Error& error) {
    if (error.code() == Code::io) throw;
    finding.message = fmt::format("the second meta page is unusable ({})", error.message());
    findings(std::move(finding));
    return first;
  }
  if (second->page_bytes != first.page_bytes) {
    finding.message = "the two meta pages differ in page size";
    finding.found = fmt::to_string(second->page_bytes);
    finding.expected = fmt::to_string(first.page_bytes);
    findings(std::move(finding));
    return first;
  }
  if (const std::string fault = turn_fault(first, *second); !fault.empty()) {
    finding.message =
        fmt::format("the transactions of the two meta pages do not follow each other ({})", fault);
    finding.found = fmt::format("{} and {}", first.transaction, second->transaction);
    findings(std::move(finding));
  }
  return second->transaction > first.transaction ? *second : first;
}

bool have_one_tree(const InputFile& file) {
  std::array<std::byte, kTreesEnd - kTreesBegin> first, second;
  if (file.size() < 2 * kPageBytes) return false;
  file.read_exact(kTreesBegin, first);
  file.read_exact(kPageBytes + kTreesBegin, second);
  return first == second;
}

std::optional<std::string> note_in(const InputFile& file) {
  std::vector<std::byte> page(kPageBytes);
  for (std::uint64_t number = 0; number < kMetaPages; ++number) {
    file.read_exact(number * kPageBytes, page);
    ByteReader in(Bytes(page).subspan(kMetaBytes));
    const std::uint32_t bytes = in.read_u32(), crc = in.read_u32();
    if (bytes == 0 || bytes > in.remaining()) continue;
    const Bytes note = in.read_bytes(bytes);
    if (crc32c(note) == crc) return std::string(as_text(note));
  }
  return std::nullopt;
}

}  // namespace shale::lmdb
