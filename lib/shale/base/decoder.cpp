#include "shale/base/decoder.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

#include <lz4.h>
#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"

namespace shale {
namespace {

constexpr int kZlibWindow = 15, kGzipWindow = 15 + 16;  // the largest window, with either header
constexpr int kLeastWindowLog = 10, kMostWindowLog = 31;
constexpr std::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4), kSkippableTail("\x2a\x4d\x18", 3);
constexpr std::string_view kDamagedStreamHint =
    "the file was probably truncated or damaged in a copy; compare its checksum with that of the "
    "original, and copy it again";

struct FreeZstdContext {
  void operator()(ZSTD_DCtx* context) const { (void)ZSTD_freeDCtx(context); }
};

struct FreeLz4Context {
  void operator()(LZ4F_dctx* context) const { (void)LZ4F_freeDecompressionContext(context); }
};

Error invalid_stream(Packing packing, std::string_view why) {
  return Error(Code::damaged, "compressed data is not valid {}: {}", name_of(packing), why)
      .hint(kDamagedStreamHint);
}

// Little-endian, of at most 8 bytes.
std::uint64_t number_in(Bytes bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    number = number << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
  return number;
}

bool is_skippable(Bytes head) {
  return head.size() >= 8 && as_text(head).substr(1, 3) == kSkippableTail &&
         (std::to_integer<unsigned>(head[0]) & 0xF0U) == 0x50U;
}

// The header of a frame, RFC 8878, section 3.1.1.1: descriptor, window unless it is a single
// segment, number of the dictionary, size of the content.
std::uint64_t window_of_frame(Bytes header) {
  if (header.empty()) return 0;
  const auto descriptor = std::to_integer<unsigned>(header[0]);
  const bool is_single = (descriptor & 0x20U) != 0;
  if (!is_single) {
    if (header.size() < 2) return 0;
    const auto window = std::to_integer<unsigned>(header[1]);
    const std::uint64_t base = std::uint64_t{1}
                               << (kLeastWindowLog + static_cast<int>(window >> 3U));
    return base + base / 8 * (window & 7U);
  }
  constexpr std::size_t kDictionaryBytes[] = {0, 1, 2, 4}, kContentBytes[] = {1, 2, 4, 8};
  const std::size_t begin = 1 + kDictionaryBytes[descriptor & 3U];
  const std::size_t bytes = kContentBytes[descriptor >> 6U];
  if (header.size() < begin + bytes) return 0;
  return number_in(header.subspan(begin, bytes)) + (bytes == 2 ? 256 : 0);
}

}  // namespace

std::string_view name_of(Packing packing) {
  constexpr std::string_view kNames[] = {"", "gzip", "zstd", "zlib", "lz4"};
  return kNames[static_cast<std::size_t>(packing)];
}

std::uint64_t zstd_window_of(Bytes head) {
  constexpr std::size_t kSkippableHead = 8;
  while (is_skippable(head)) {
    const std::uint64_t bytes = kSkippableHead + number_in(head.subspan(4, 4));
    if (bytes >= head.size()) return 0;
    head = head.subspan(bytes);
  }
  if (!as_text(head).starts_with(kZstdMagic)) return 0;
  return window_of_frame(head.subspan(kZstdMagic.size()));
}

struct Decoder::State {
  State(Packing of, std::uint64_t most) : packing(of), most_window(most) {
    if (is_deflated()) {
      const int window = packing == Packing::gzip ? kGzipWindow : kZlibWindow;
      if (::inflateInit2(&deflated, window) != Z_OK) throw std::bad_alloc();
    }
    if (packing == Packing::lz4) {
      LZ4F_dctx* made = nullptr;
      if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) != 0)
        throw std::bad_alloc();
      lz4.reset(made);
    }
    if (packing != Packing::zstd) return;
    zstd.reset(ZSTD_createDCtx());
    if (!zstd) throw std::bad_alloc();
    const int log =
        std::clamp(static_cast<int>(std::bit_width(std::max<std::uint64_t>(most, 1) - 1)),
                   kLeastWindowLog, kMostWindowLog);
    (void)ZSTD_DCtx_setParameter(zstd.get(), ZSTD_d_windowLogMax, log);
  }
  ~State() {
    if (is_deflated()) (void)::inflateEnd(&deflated);
  }
  [[nodiscard]] bool is_deflated() const {
    return packing == Packing::gzip || packing == Packing::zlib;
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Progress inflate(Bytes piece, std::span<std::byte> into) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    // A member has ended: another one begins.
    if (may_end && !piece.empty()) (void)::inflateReset(&deflated);
    // zlib reads its input, but does not say so in the type.
    deflated.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
    deflated.avail_in = static_cast<uInt>(std::min(piece.size(), kMost));
    deflated.next_out = reinterpret_cast<Bytef*>(into.data());
    deflated.avail_out = static_cast<uInt>(std::min(into.size(), kMost));
    const uInt in = deflated.avail_in, out = deflated.avail_out;
    const int result = ::inflate(&deflated, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    const bool has_given = deflated.avail_out < out;
    // What comes before the damage is given first: the next call finds it again.
    const bool is_damaged = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
    if (is_damaged && !has_given)
      throw invalid_stream(packing, deflated.msg != nullptr ? deflated.msg : "wrong data");
    if (in > 0 || result == Z_STREAM_END) may_end = result == Z_STREAM_END;
    return {.taken = in - deflated.avail_in, .given = out - deflated.avail_out};
  }

  Progress decode_zstd(Bytes piece, std::span<std::byte> into) {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    const std::size_t result = ZSTD_decompressStream(zstd.get(), &out, &in);
    if (ZSTD_isError(result) != 0) {
      const ZSTD_ErrorCode error = ZSTD_getErrorCode(result);
      if (error == ZSTD_error_memory_allocation) throw std::bad_alloc();
      if (error == ZSTD_error_frameParameter_windowTooLarge) throw window_too_large();
      throw invalid_stream(packing, ZSTD_getErrorName(result));
    }
    if (in.pos > 0 || out.pos > 0) may_end = result == 0;
    return {.taken = in.pos, .given = out.pos};
  }

  Progress decode_lz4(Bytes piece, std::span<std::byte> into) {
    std::size_t taken = piece.size(), given = into.size();
    const std::size_t result =
        LZ4F_decompress(lz4.get(), into.data(), &given, piece.data(), &taken, nullptr);
    if (LZ4F_isError(result) != 0) {
      const std::string_view why = LZ4F_getErrorName(result);
      if (why == "ERROR_allocation_failed") throw std::bad_alloc();
      throw invalid_stream(packing, why);
    }
    if (taken > 0 || given > 0) may_end = result == 0;
    return {.taken = taken, .given = given};
  }

  // What follows the last member or frame: zeros, and nothing else.
  Progress pass_padding(Bytes piece) const {
    if (std::all_of(piece.begin(), piece.end(),
                    [](std::byte byte) { return byte == std::byte{0}; }))
      return {.taken = piece.size()};
    throw invalid_stream(packing, "what follows its end is not zero");
  }

  [[nodiscard]] Error window_too_large() const {
    return Error(Code::limit, "decompressing it takes a window of more than {}",
                 format_size(most_window))
        .hint("pass a larger --memory, or compress it again without --long and --ultra");
  }

  Packing packing;
  std::uint64_t most_window;
  z_stream deflated = {};
  std::unique_ptr<ZSTD_DCtx, FreeZstdContext> zstd = nullptr;
  std::unique_ptr<LZ4F_dctx, FreeLz4Context> lz4 = nullptr;
  bool may_end = true, has_begun = false, is_padding = false;
};

Decoder::Decoder(Packing packing, std::uint64_t most_window)
    : state_(std::make_unique<State>(packing, most_window)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

Decoder::Progress Decoder::decode(Bytes piece, std::span<std::byte> into) {
  State& state = *state_;
  if (state.packing == Packing::none) {
    const std::size_t bytes = std::min(piece.size(), into.size());
    std::copy_n(piece.begin(), bytes, into.begin());
    return {.taken = bytes, .given = bytes};
  }
  const bool is_behind_end = state.has_begun && state.may_end && !piece.empty();
  if (is_behind_end && piece.front() == std::byte{0}) state.is_padding = true;
  if (state.is_padding) return state.pass_padding(piece);
  state.has_begun = state.has_begun || !piece.empty();
  if (state.packing == Packing::lz4) return state.decode_lz4(piece, into);
  return state.is_deflated() ? state.inflate(piece, into) : state.decode_zstd(piece, into);
}

std::optional<std::vector<std::byte>> unpack_lz4_block(Bytes block, std::uint64_t most_bytes) {
  constexpr std::size_t kSizeBytes = 4;
  constexpr std::uint64_t kMostRatio = 255;  // of any block: a byte of a length stands for so many
  if (block.size() <= kSizeBytes || block.size() > LZ4_MAX_INPUT_SIZE) return std::nullopt;
  const std::uint64_t bytes = number_in(block.first(kSizeBytes));
  const Bytes data = block.subspan(kSizeBytes);
  if (bytes > most_bytes || bytes > LZ4_MAX_INPUT_SIZE || bytes / kMostRatio > data.size())
    return std::nullopt;
  std::vector<std::byte> content(bytes);
  const int given = LZ4_decompress_safe(reinterpret_cast<const char*>(data.data()),
                                        reinterpret_cast<char*>(content.data()),
                                        static_cast<int>(data.size()), static_cast<int>(bytes));
  if (given < 0 || static_cast<std::uint64_t>(given) != bytes) return std::nullopt;
  return content;
}

bool Decoder::may_end() const { return state_->may_end; }

}  // namespace shale
