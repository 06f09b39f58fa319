#include "shale/parquet/parquet_codec.hpp"

#include <algorithm>

#include <snappy.h>

#include "shale/base/decoder.hpp"
#include "shale/base/error.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostWindow = 128 << 20;

Error wrong_size(std::uint64_t found, std::uint64_t expected) {
  return Error(Code::damaged, "page of {} bytes unpacked, expected {}", found, expected);
}
Error not_of_codec(ParquetCodec codec) {
  return Error(Code::damaged, "page is not compressed with {}, as its column is", name_of(codec));
}

std::vector<std::byte> unpack_snappy(Bytes stored, std::uint64_t bytes) {
  const auto* const data = reinterpret_cast<const char*>(stored.data());
  std::size_t found = 0;
  if (!snappy::GetUncompressedLength(data, stored.size(), &found))
    throw not_of_codec(ParquetCodec::snappy);
  if (found != bytes) throw wrong_size(found, bytes);
  // Two bytes become 64 at most: a page that says more is wrong before it takes memory.
  constexpr std::uint64_t kMostRatio = 64;
  if (bytes / kMostRatio > stored.size()) throw not_of_codec(ParquetCodec::snappy);
  std::vector<std::byte> unpacked(bytes);
  if (!snappy::RawUncompress(data, stored.size(), reinterpret_cast<char*>(unpacked.data())))
    throw not_of_codec(ParquetCodec::snappy);
  return unpacked;
}

std::vector<std::byte> unpack_stream(Packing packing, Bytes stored, std::uint64_t bytes) {
  constexpr std::uint64_t kFirstBytes = 1 << 20;
  Decoder decoder(packing, kMostWindow);
  std::vector<std::byte> unpacked(std::min(bytes, kFirstBytes));
  std::uint64_t filled = 0;
  while (true) {
    std::byte behind{};
    const bool is_full = filled == bytes;
    const std::span<std::byte> into =
        is_full ? std::span(&behind, 1) : std::span(unpacked).subspan(filled);
    const Decoder::Progress progress = decoder.decode(stored, into);
    stored = stored.subspan(progress.taken);
    if (is_full && progress.given > 0) throw wrong_size(filled + 1, bytes);
    filled += progress.given;
    if (progress.taken == 0 && progress.given == 0) break;
    if (filled == unpacked.size() && filled < bytes)
      unpacked.resize(std::min(bytes, 2 * unpacked.size()));
  }
  if (filled != bytes) throw wrong_size(filled, bytes);
  if (!decoder.may_end() || !stored.empty())
    throw Error(Code::damaged, "page is not one compressed stream");
  return unpacked;
}

std::vector<std::byte> unpack_lz4(Bytes stored, std::uint64_t bytes) {
  ByteWriter block;  // behind its size, as it is taken
  block.write(static_cast<std::uint32_t>(bytes));
  block.write_bytes(stored);
  std::optional<std::vector<std::byte>> unpacked = unpack_lz4_block(block.bytes(), bytes);
  if (!unpacked || unpacked->size() != bytes) throw not_of_codec(ParquetCodec::lz4_raw);
  return *std::move(unpacked);
}

}  // namespace

Error page_too_large(std::uint64_t bytes) {
  return {Code::limit, "page of {} bytes, at most {} are unpacked", bytes, kMostPageBytes};
}

bool can_unpack(ParquetCodec codec) {
  switch (codec) {
    case ParquetCodec::uncompressed:
    case ParquetCodec::snappy:
    case ParquetCodec::gzip:
    case ParquetCodec::zstd:
    case ParquetCodec::lz4_raw:
      return true;
    default:
      return false;
  }
}

std::vector<std::byte> unpack_page(ParquetCodec codec, Bytes stored, std::uint64_t bytes) {
  if (!can_unpack(codec))
    throw Error(Code::unsupported, "pages of the codec {} are not supported", name_of(codec));
  if (bytes > kMostPageBytes || stored.size() > kMostPageBytes)
    throw page_too_large(std::max<std::uint64_t>(bytes, stored.size()));
  if (codec == ParquetCodec::uncompressed) {
    if (stored.size() != bytes) throw wrong_size(stored.size(), bytes);
    return {stored.begin(), stored.end()};
  }
  if (bytes == 0) return {};  // some writers compress nothing to nothing
  switch (codec) {
    case ParquetCodec::snappy:
      return unpack_snappy(stored, bytes);
    case ParquetCodec::gzip:
      return unpack_stream(Packing::gzip, stored, bytes);
    case ParquetCodec::zstd:
      return unpack_stream(Packing::zstd, stored, bytes);
    default:
      return unpack_lz4(stored, bytes);
  }
}

}  // namespace shale
