// PNG to read, to check, and to RGB.

#include "shale/image/png_reader.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/image/codecs.hpp"
#include "shale/image/rgb.hpp"

namespace shale {
namespace {

[[noreturn]] void jump_out_of_png(png_structp png, png_const_charp message) {
  auto& self = *static_cast<PngReader*>(png_get_error_ptr(png));
  const std::string_view text = message;
  std::copy_n(text.data(), std::min(text.size(), self.message.size() - 1), self.message.data());
  std::longjmp(self.escape, 1);
}

void read_some(png_structp png, png_bytep out, std::size_t count) {
  auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > self.left.size()) png_error(png, "the bytes end early");
  std::memcpy(out, self.left.data(), count);
  self.left = self.left.subspan(count);
}

constexpr std::uint64_t kRgbChannels = 3;

// Interlace handling stays off: libpng then hands out the rows of the seven small images as they
// come, one at a time.
void read_pixels(PngReader& reader) {
  png_structp png = reader.png;
  const png_uint_32 width = png_get_image_width(png, reader.info);
  const png_uint_32 height = png_get_image_height(png, reader.info);
  const bool is_interlaced = png_get_interlace_type(png, reader.info) == PNG_INTERLACE_ADAM7;
  for (int pass = 0; pass < (is_interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1); ++pass) {
    if (is_interlaced && PNG_PASS_COLS(width, pass) == 0) continue;
    const png_uint_32 rows = is_interlaced ? PNG_PASS_ROWS(height, pass) : height;
    for (png_uint_32 row = 0; row < rows; ++row) png_read_row(png, nullptr, nullptr);
  }
  png_read_end(png, nullptr);
}

void want_rgb(PngReader& reader) {
  png_structp png = reader.png;
  png_set_strip_16(png);
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_palette_to_rgb(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  (void)png_set_interlace_handling(png);
  png_read_update_info(png, reader.info);
}

std::string objection(const PngReader& reader) {
  return fmt::format("does not decode as PNG: {}", reader.message.data());
}

}  // namespace

PngReader::PngReader(Bytes bytes) : left(bytes) {
  if (setjmp(escape) != 0) return;
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, jump_out_of_png,
                               [](png_structp, png_const_charp) {});
  if (png == nullptr) return;
  info = png_create_info_struct(png);
}

bool guarded_png(PngReader& reader, void (*work)(PngReader&)) {
  if (setjmp(reader.escape) != 0) return false;
  work(reader);
  return true;
}

void read_png_header(PngReader& reader) {
  png_structp png = reader.png;
  png_set_read_fn(png, &reader, read_some);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  // Text, color profiles and the like are checked by their CRC and passed over: that a profile is
  // not to libpng's taste is not damage, and a compressed text may unpack to gigabytes.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(png, reader.info);
}

// Each pass of an interlaced image adds to the same rows.
void read_png_rows(PngReader& reader) {
  png_structp png = reader.png;
  const png_uint_32 height = png_get_image_height(png, reader.info);
  const std::size_t row_bytes = png_get_rowbytes(png, reader.info);
  const bool is_interlaced = png_get_interlace_type(png, reader.info) == PNG_INTERLACE_ADAM7;
  for (int pass = 0; pass < (is_interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1); ++pass) {
    for (png_uint_32 row = 0; row < height; ++row)
      png_read_row(png, reinterpret_cast<png_bytep>(reader.pixels + row * row_bytes), nullptr);
  }
  png_read_end(png, nullptr);
}

DecodeResult discard_png(Bytes bytes, std::uint64_t limit_bytes) {
  PngReader reader(bytes);
  if (reader.info == nullptr) return {};
  if (!guarded_png(reader, read_png_header))
    return {.was_decoded = true, .fault = objection(reader)};
  const std::uint64_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  if (row_bytes == 0 ||
      row_bytes > limit_bytes / 2) {  // libpng keeps the row before for its filters
    return {.was_decoded = true,
            .fault = fmt::format("does not decode: two PNG rows of {} bytes, {} bytes allowed",
                                 row_bytes, limit_bytes)};
  }
  if (!guarded_png(reader, read_pixels)) return {.was_decoded = true, .fault = objection(reader)};
  return {.was_decoded = true, .fault = {}};
}

bool decode_png_rgb(Bytes bytes, std::uint64_t limit_bytes,
                    const std::function<std::span<std::byte>(ImageExtent)>& room) {
  if (!as_text(bytes).starts_with("\x89PNG\r\n\x1a\n")) return false;
  PngReader reader(bytes);
  if (reader.info == nullptr) throw std::bad_alloc();
  const auto work = [&](void (*step)(PngReader&)) {
    if (guarded_png(reader, step)) return;
    throw Error(Code::bad_content, "the PNG cannot be decoded").because(reader.message.data());
  };
  work(read_png_header);
  const ImageExtent extent{png_get_image_width(reader.png, reader.info),
                           png_get_image_height(reader.png, reader.info)};
  // Of these libpng itself holds two rows.
  const std::uint64_t row_bytes = kRgbChannels * extent.width,
                      bytes_of_all = row_bytes * extent.height;
  if (bytes_of_all > limit_bytes) {
    throw Error(Code::bad_content, "{} x {} pixels need more than the {} bytes allowed",
                extent.width, extent.height, limit_bytes);
  }
  const bool is_gray = png_get_color_type(reader.png, reader.info) == PNG_COLOR_TYPE_GRAY;
  if (is_gray && png_get_bit_depth(reader.png, reader.info) == 16) {
    throw Error(Code::unsupported, "a gray PNG of 16 bits is not decoded to RGB")
        .hint("convert the image to 8 bits");
  }
  work(want_rgb);
  const std::span<std::byte> into = room(extent);
  if (into.size() != bytes_of_all || png_get_rowbytes(reader.png, reader.info) != row_bytes)
    throw Error(Code::bug, "{} bytes for a PNG of {}", into.size(), bytes_of_all);
  reader.pixels = into.data();
  work(read_png_rows);
  return true;
}

}  // namespace shale
