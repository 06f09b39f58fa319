#include "shale/image/jpeg_decompressor.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include <fmt/format.h>
#include <jerror.h>

#include "shale/image/header_facts.hpp"

namespace shale {
namespace {

// Encoders write about ten scans; 500 is TurboJPEG's TJFLAG_LIMITSCANS. Each walks all pixels, some
// 1.5 * 10^9 a second where it is empty: more than 24 together at most as many as that.
constexpr std::uint64_t kScansOfAny = 24, kMostScans = 500, kMostScannedPixels = 1 << 30;

std::uint64_t scan_limit(const jpeg_decompress_struct& state) {
  const std::uint64_t pixels = std::uint64_t{state.image_width} * state.image_height;
  return std::clamp(kMostScannedPixels / std::max<std::uint64_t>(pixels, 1), kScansOfAny,
                    kMostScans);
}

[[noreturn]] void jump_out(j_common_ptr state) {
  auto& self = *static_cast<JpegDecompressor*>(state->client_data);
  self.message_code = state->err->msg_code;
  state->err->format_message(state, self.message.data());
  std::longjmp(self.escape, 1);
}

// True for stray bytes that hide no damage: between the segments of a header, or padding, the same
// byte over and over, as no image data end. libjpeg has read up to the marker behind them.
bool are_harmless(j_common_ptr state) {
  const auto& image = *reinterpret_cast<j_decompress_ptr>(state);
  if (image.input_scan_number == 0) return true;
  const Bytes bytes = static_cast<const JpegDecompressor*>(state->client_data)->bytes;
  const auto count = static_cast<std::size_t>(std::max(0, state->err->msg_parm.i[0]));
  const std::size_t left = image.src->bytes_in_buffer;
  if (left > bytes.size() || count == 0 || count > bytes.size() - left) return false;
  const Bytes stray = bytes.subspan(bytes.size() - left - count, count);
  return std::ranges::all_of(stray, [&](std::byte byte) { return byte == stray.front(); });
}

// Level -1 is a warning. Where warnings count, damage ends the work at once, so no image of 4
// billion missing pixels is decoded to its end.
void judge_message(j_common_ptr state, int level) {
  if (level >= 0) return;
  if (!static_cast<JpegDecompressor*>(state->client_data)->warnings_count) return;
  const int code = state->err->msg_code;
  if (code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM || code == JWRN_BOGUS_ICC) return;
  if (code == JWRN_EXTRANEOUS_DATA && are_harmless(state)) return;
  jump_out(state);
}

boolean refuse_to_refill(j_decompress_ptr state) {
  state->err->msg_code = JWRN_JPEG_EOF;
  jump_out(reinterpret_cast<j_common_ptr>(state));
}

void skip_input(j_decompress_ptr state, long count) {
  if (count <= 0) return;
  const auto wanted = static_cast<std::size_t>(count);
  if (wanted > state->src->bytes_in_buffer) refuse_to_refill(state);
  state->src->next_input_byte += wanted;
  state->src->bytes_in_buffer -= wanted;
}

void count_scans(j_common_ptr state) {
  const auto& image = *reinterpret_cast<j_decompress_ptr>(state);
  const std::uint64_t limit = scan_limit(image);
  if (static_cast<std::uint64_t>(image.input_scan_number) <= limit) return;
  auto& self = *static_cast<JpegDecompressor*>(state->client_data);
  self.message_code = 0;
  fmt::format_to_n(self.message.data(), self.message.size() - 1, "more than {} scans", limit);
  std::longjmp(self.escape, 1);
}

bool is_one_of(int message_code, std::span<const int> codes) {
  return std::find(codes.begin(), codes.end(), message_code) != codes.end();
}

}  // namespace

JpegDecompressor::JpegDecompressor() {
  state.err = jpeg_std_error(&errors);
  errors.error_exit = jump_out;
  errors.emit_message = judge_message;
  errors.output_message = [](j_common_ptr) {};
  source.init_source = [](j_decompress_ptr) {};
  source.fill_input_buffer = refuse_to_refill;
  source.skip_input_data = skip_input;
  source.resync_to_restart = jpeg_resync_to_restart;
  source.term_source = [](j_decompress_ptr) {};
  progress.progress_monitor = count_scans;
  state.client_data = this;
  const bool was_made =
      guarded(*this, [](jpeg_decompress_struct& fresh) { jpeg_create_decompress(&fresh); });
  if (was_made) return;
  jpeg_destroy_decompress(&state);
  throw std::bad_alloc();
}

void JpegDecompressor::set_source(Bytes bytes) {
  this->bytes = bytes;
  source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
  source.bytes_in_buffer = bytes.size();
  message.fill('\0');
  message_code = 0;
  state.src = &source;
}

void JpegDecompressor::limit_memory(std::uint64_t limit_bytes) {
  constexpr std::uint64_t kMost = std::numeric_limits<long>::max();
  state.mem->max_memory_to_use = static_cast<long>(std::min(limit_bytes, kMost));
}

bool guarded(JpegDecompressor& decompressor,
             const std::function<void(jpeg_decompress_struct&)>& work) {
  if (setjmp(decompressor.escape) != 0) return false;
  work(decompressor.state);
  return true;
}

void parse_jpeg_header(jpeg_decompress_struct& state) {
  while (jpeg_read_header(&state, FALSE) == JPEG_HEADER_TABLES_ONLY) {
  }
}

J_COLOR_SPACE pixel_space(const jpeg_decompress_struct& state) {
  if (state.num_components == 4) return JCS_CMYK;
  return state.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
}

bool is_unsupported_jpeg(int message_code) {
  constexpr int kCodes[] = {JERR_BAD_PRECISION,        JERR_SOF_UNSUPPORTED,    JERR_ARITH_NOTIMPL,
                            JERR_IMAGE_TOO_BIG,        JERR_CONVERSION_NOTIMPL, JERR_NOTIMPL,
                            JERR_FRACT_SAMPLE_NOTIMPL, JERR_CCIR601_NOTIMPL};
  return is_one_of(message_code, kCodes);
}

bool is_out_of_memory(int message_code) {
  constexpr int kCodes[] = {JERR_NO_BACKING_STORE, JERR_OUT_OF_MEMORY};
  return is_one_of(message_code, kCodes);
}

unsigned dct_size_of(const jpeg_component_info& component) {
#if JPEG_LIB_VERSION >= 70
  return static_cast<unsigned>(component.DCT_h_scaled_size);
#else
  return static_cast<unsigned>(component.DCT_scaled_size);
#endif
}

unsigned least_dct_size(const jpeg_decompress_struct& state) {
#if JPEG_LIB_VERSION >= 70
  return static_cast<unsigned>(state.min_DCT_h_scaled_size);
#else
  return static_cast<unsigned>(state.min_DCT_scaled_size);
#endif
}

ImageFault jpeg_fault(const JpegDecompressor& decompressor, std::uint64_t limit_bytes) {
  if (is_out_of_memory(decompressor.message_code)) {
    return too_large("its JPEG coefficients take more than the {} bytes allowed", limit_bytes);
  }
  if (is_unsupported_jpeg(decompressor.message_code))
    return unsupported("JPEG: {}", decompressor.message.data());
  return damaged("does not decode as JPEG: {}", decompressor.message.data());
}

std::optional<ImageFault> open_jpeg(JpegDecompressor& decompressor, Bytes jpeg,
                                    const ImageInfo& info, std::uint64_t limit_bytes) {
  decompressor.limit_scans();
  decompressor.limit_memory(limit_bytes);
  decompressor.set_source(jpeg);
  if (!guarded(decompressor, parse_jpeg_header)) return jpeg_fault(decompressor, limit_bytes);
  const jpeg_decompress_struct& state = decompressor.state;
  if (state.image_width == info.width && state.image_height == info.height) return std::nullopt;
  return damaged("JPEG of {} x {}, its first frame header says {} x {}", state.image_width,
                 state.image_height, info.width, info.height);
}

}  // namespace shale
