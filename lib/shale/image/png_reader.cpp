#include "shale/image/png_reader.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

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

}  // namespace shale
