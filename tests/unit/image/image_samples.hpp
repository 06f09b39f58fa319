#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/image/probe.hpp"

namespace shale::test {

enum class JpegColor { gray, ycc, rgb, cmyk, ycck };
struct JpegRecipe {
  unsigned width = 48, height = 40;
  JpegColor color = JpegColor::ycc;
  bool is_subsampled = true;  // as luma_columns, luma_rows; else 4:4:4
  bool is_progressive = false;
  bool is_one_scan_a_channel = false;
  int luma_columns = 2, luma_rows = 2;  // blocks of luma a block of chroma: 4:2:0
  bool is_arithmetic = false;           // else Huffman
  bool rows_differ = false;             // else all rows are the same noise, but for one sample
  bool is_smooth = false;               // waves instead of noise
  unsigned restart_rows = 0;            // a restart marker after so many rows of MCUs
};
/// A noisy JPEG, compressed by libjpeg-turbo.
[[nodiscard]] std::string make_jpeg(const JpegRecipe& recipe = {});

struct PngRecipe {
  unsigned width = 23, height = 17;
  int color_type = 2, bits = 8;  // as IHDR stores them
  bool is_interlaced = false;
  bool has_transparency = false;      // a tRNS chunk
  std::string_view extra_chunk = {};  // the name of an ancillary chunk to put before the pixels
  std::string extra_payload = {};
};
/// A noisy PNG, written by libpng.
[[nodiscard]] std::string make_png(const PngRecipe& recipe = {});

/// A number in `count` bytes, little-endian and big-endian.
[[nodiscard]] std::string le(std::uint64_t value, int count);
[[nodiscard]] std::string be(std::uint64_t value, int count);

/// An EXIF block with one tag, the orientation, behind a description that lies apart from the
/// directory.
[[nodiscard]] std::string exif_block(unsigned orientation, bool is_big_endian);
/// `jpeg` with an APP1 segment of "Exif\0\0" and `exif` after its SOI.
[[nodiscard]] std::string with_exif(const std::string& jpeg, const std::string& exif);
/// `text` with the bytes at `at` replaced.
[[nodiscard]] std::string patched(std::string text, std::size_t at, std::string_view bytes);

/// Probes a copy that ends where its memory ends, so that AddressSanitizer sees any step beyond.
[[nodiscard]] inline ImageInfo probe(std::string_view content, std::string_view name = "x") {
  const std::vector<char> exact(content.begin(), content.end());
  return probe_image(as_bytes({exact.data(), exact.size()}), name);
}
[[nodiscard]] inline DecodeResult decode(std::string_view content, ImageType type,
                                         std::uint64_t limit_bytes = 512 << 20) {
  const std::vector<char> exact(content.begin(), content.end());
  return decode_and_discard(as_bytes({exact.data(), exact.size()}), type, limit_bytes);
}

using Odd = std::vector<std::string_view>;

/// Where the frame header of a JPEG begins.
inline std::size_t frame_of(const std::string& jpeg) {
  const std::size_t baseline = jpeg.find("\xFF\xC0");
  return baseline == std::string::npos ? jpeg.find("\xFF\xC2") : baseline;
}

}  // namespace shale::test
