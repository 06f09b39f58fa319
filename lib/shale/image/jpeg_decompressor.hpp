#pragma once

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs FILE and does not include it
#include <functional>
#include <optional>

#include <jpeglib.h>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"

namespace shale {

/// A libjpeg decompressor that reads from memory, for the sources of this module only. (The libjpeg
/// API: unlike TurboJPEG it decodes in stripes, tells one objection from another by number, and
/// does not turn down unusual chroma subsampling.) libjpeg reports by a callback that must not
/// return, so errors jump to the one setjmp in guarded().
struct JpegDecompressor {
  JpegDecompressor();  ///< Errors: std::bad_alloc.
  ~JpegDecompressor() { jpeg_destroy_decompress(&state); }
  JpegDecompressor(const JpegDecompressor&) = delete;
  JpegDecompressor& operator=(const JpegDecompressor&) = delete;

  /// The bytes are borrowed until the next set_source() or the end.
  void set_source(Bytes bytes);
  /// More scans than anyone writes are an objection from now on: 24 for an image of any size, up to
  /// 500 for a small one. Each scan of a progressive image walks all its coefficients, so a few
  /// kilobytes of empty scans over a large frame would take hours.
  void limit_scans() { state.progress = &progress; }
  /// Coefficients that need more memory are an objection from now on.
  void limit_memory(std::uint64_t limit_bytes);

  Bytes bytes;  ///< of set_source()
  jpeg_decompress_struct state{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  /// True: damage that libjpeg could patch over is an objection too, but not unusual metadata.
  bool warnings_count = true;
  int message_code = 0;
  std::array<char, JMSG_LENGTH_MAX> message{};
};

/// False if libjpeg objected to `work`: message and message_code then say why. `work` is left by a
/// jump, so while libjpeg runs it holds nothing that has a destructor.
[[nodiscard]] bool guarded(JpegDecompressor& decompressor,
                           const std::function<void(jpeg_decompress_struct&)>& work);

/// True for what another build of libjpeg, or another decoder, may well read.
[[nodiscard]] bool is_unsupported_jpeg(int message_code);
/// True if limit_memory() (or the machine) objected.
[[nodiscard]] bool is_out_of_memory(int message_code);
/// What libjpeg objected to; `limit_bytes` is that of limit_memory().
[[nodiscard]] ImageFault jpeg_fault(const JpegDecompressor& decompressor,
                                    std::uint64_t limit_bytes);

/// Reads everything up to the header, with both limits, and checks it against what was probed.
[[nodiscard]] std::optional<ImageFault> open_jpeg(JpegDecompressor& decompressor, Bytes jpeg,
                                                  const ImageInfo& info, std::uint64_t limit_bytes);

/// Reads everything up to the image's header: for guarded().
void parse_jpeg_header(jpeg_decompress_struct& state);

/// What pixels are asked for in: gray, RGB, or CMYK as Adobe stores it.
[[nodiscard]] J_COLOR_SPACE pixel_space(const jpeg_decompress_struct& state);

inline constexpr JDIMENSION kJpegRowsAtOnce = 8;
/// Has libjpeg, started, write the rows before `end`: row y to row_at(y), at most kJpegRowsAtOnce
/// before taken(first, count). For guarded().
template <class RowAt, class Taken>
void read_jpeg_rows(jpeg_decompress_struct& state, JDIMENSION end, const RowAt& row_at,
                    const Taken& taken) {
  std::array<JSAMPROW, kJpegRowsAtOnce> rows{};
  while (state.output_scanline < end) {
    const JDIMENSION first = state.output_scanline, most = std::min(kJpegRowsAtOnce, end - first);
    for (JDIMENSION i = 0; i < most; ++i) rows[i] = row_at(first + i);
    taken(first, jpeg_read_scanlines(&state, rows.data(), most));
  }
}

/// Has libjpeg start, and write all rows to `into`, one after the other, as its out_color_space
/// says that is set: gray or RGB. CMYK becomes RGB whatever it says. For guarded().
void read_jpeg_pixels(jpeg_decompress_struct& state, JSAMPLE* into);

/// Samples per side of a decoded block of a component, and of the component that has the fewest:
/// known once decompression has started.
[[nodiscard]] unsigned dct_size_of(const jpeg_component_info& component);
[[nodiscard]] unsigned least_dct_size(const jpeg_decompress_struct& state);

}  // namespace shale
