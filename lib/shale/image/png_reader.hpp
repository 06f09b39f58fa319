#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>

#include <png.h>

#include "shale/base/bytes.hpp"

namespace shale {

/// A libpng reader of bytes in memory, for the sources of this module only. libpng reports by a
/// callback that must not return: errors jump to the one setjmp in guarded_png(), and the work done
/// under it holds nothing that has a destructor.
struct PngReader {
  explicit PngReader(Bytes bytes);  ///< `info` is null if there was no memory
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  png_structp png = nullptr;
  png_infop info = nullptr;
  Bytes left;
  std::jmp_buf escape{};
  std::array<char, 200> message{};
  std::byte* pixels = nullptr;  ///< where read_png_rows() puts them
};

/// False if libpng objected to `work`: `message` says why.
[[nodiscard]] bool guarded_png(PngReader& reader, void (*work)(PngReader&));

// For guarded_png():
/// Reads up to the pixels. Text, color profiles and the like are checked by their CRC and passed
/// over.
void read_png_header(PngReader& reader);
/// Reads all pixels to reader.pixels, rows of png_get_rowbytes(), and all that follows them.
/// Interlace handling must be on, and png_read_update_info() done.
void read_png_rows(PngReader& reader);

}  // namespace shale
