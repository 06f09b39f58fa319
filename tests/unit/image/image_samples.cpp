#include "unit/image/image_samples.hpp"

#include <cmath>
#include <cstdio>  // jpeglib.h needs FILE and does not include it
#include <cstdlib>
#include <random>

#include <jpeglib.h>
#include <png.h>

namespace shale::test {
namespace {

std::vector<unsigned char> noise(std::size_t count) {
  std::mt19937 random(1);  // the same image in every run
  std::vector<unsigned char> bytes(count);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
  return bytes;
}

std::vector<unsigned char> waves(std::size_t row_bytes, std::size_t rows) {
  std::vector<unsigned char> bytes;
  bytes.reserve(row_bytes * rows);
  for (std::size_t y = 0; y < rows; ++y) {
    for (std::size_t i = 0; i < row_bytes; ++i) {
      const double across = double(i) / 61, down = double(y) / 17, turn = double(i % 3);
      bytes.push_back(static_cast<unsigned char>(128 + 60 * std::sin(across + turn) +
                                                 50 * std::cos(down - across / 3)));
    }
  }
  return bytes;
}

struct ColorPair {
  J_COLOR_SPACE in, stored;
  int components;
};
ColorPair colors_of(JpegColor color) {
  switch (color) {
    case JpegColor::gray:
      return {JCS_GRAYSCALE, JCS_GRAYSCALE, 1};
    case JpegColor::rgb:
      return {JCS_RGB, JCS_RGB, 3};
    case JpegColor::cmyk:
      return {JCS_CMYK, JCS_CMYK, 4};
    case JpegColor::ycck:
      return {JCS_CMYK, JCS_YCCK, 4};
    case JpegColor::ycc:
      break;
  }
  return {JCS_RGB, JCS_YCbCr, 3};
}

void append_png_bytes(png_structp png, png_bytep data, std::size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(data), size);
}

}  // namespace

std::string make_jpeg(const JpegRecipe& recipe) {
  const auto [in, stored, components] = colors_of(recipe.color);
  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};  // the default one: ends the test with libjpeg's message
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* out = nullptr;
  unsigned long out_size = 0;
  jpeg_mem_dest(&state, &out, &out_size);
  state.image_width = recipe.width;
  state.image_height = recipe.height;
  state.input_components = components;
  state.in_color_space = in;
  jpeg_set_defaults(&state);
  jpeg_set_colorspace(&state, stored);
  for (int i = 0; i < components && !recipe.is_subsampled; ++i) {
    state.comp_info[i].h_samp_factor = state.comp_info[i].v_samp_factor = 1;
  }
  if (recipe.is_subsampled && (stored == JCS_YCbCr || stored == JCS_YCCK)) {
    for (int i = 0; i < components; i += 3) {  // luma and, of YCCK, black
      state.comp_info[i].h_samp_factor = recipe.luma_columns;
      state.comp_info[i].v_samp_factor = recipe.luma_rows;
    }
  }
  state.arith_code = recipe.is_arithmetic ? TRUE : FALSE;
  if (recipe.is_progressive) jpeg_simple_progression(&state);
  const jpeg_scan_info scans[] = {
      {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
  if (recipe.is_one_scan_a_channel) {
    state.scan_info = scans;
    state.num_scans = components;
  }
  state.restart_in_rows = static_cast<int>(recipe.restart_rows);
  jpeg_start_compress(&state, TRUE);
  const std::size_t row_bytes = std::size_t{recipe.width} * static_cast<unsigned>(components);
  const std::size_t rows_made = recipe.rows_differ || recipe.is_smooth ? recipe.height : 1;
  std::vector<unsigned char> pixels =
      recipe.is_smooth ? waves(row_bytes, rows_made) : noise(row_bytes * rows_made);
  while (state.next_scanline < state.image_height) {
    unsigned char* row = pixels.data() + (rows_made > 1 ? row_bytes * state.next_scanline : 0);
    if (!recipe.is_smooth) row[0] = static_cast<unsigned char>(state.next_scanline);
    JSAMPROW rows[] = {row};
    jpeg_write_scanlines(&state, rows, 1);
  }
  jpeg_finish_compress(&state);
  std::string jpeg(reinterpret_cast<char*>(out), out_size);
  jpeg_destroy_compress(&state);
  std::free(out);
  return jpeg;
}

std::string make_png(const PngRecipe& recipe) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, append_png_bytes, nullptr);
  png_set_IHDR(png, info, recipe.width, recipe.height, recipe.bits, recipe.color_type,
               recipe.is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const std::vector<png_color> palette(std::size_t{1} << (recipe.bits > 8 ? 8 : recipe.bits),
                                       png_color{1, 2, 3});
  if (recipe.color_type == PNG_COLOR_TYPE_PALETTE) {
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  }
  const png_byte palette_alpha[] = {0};
  const png_color_16 key{};
  if (recipe.has_transparency) png_set_tRNS(png, info, palette_alpha, 1, &key);
  png_write_info(png, info);
  if (!recipe.extra_chunk.empty()) {
    png_write_chunk(png, reinterpret_cast<png_const_bytep>(recipe.extra_chunk.data()),
                    reinterpret_cast<png_const_bytep>(recipe.extra_payload.data()),
                    recipe.extra_payload.size());
  }
  const std::vector<unsigned char> row = noise(png_get_rowbytes(png, info));
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (unsigned y = 0; y < recipe.height; ++y) png_write_row(png, row.data());
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

std::string le(std::uint64_t value, int count) {
  std::string out;
  for (; count > 0; --count, value >>= 8) out.push_back(static_cast<char>(value & 0xFF));
  return out;
}

std::string be(std::uint64_t value, int count) {
  const std::string reversed = le(value, count);
  return {reversed.rbegin(), reversed.rend()};
}

std::string exif_block(unsigned orientation, bool is_big_endian) {
  const auto number = is_big_endian ? be : le;
  const std::string text("description");
  std::string out =
      (is_big_endian ? "MM" : "II") + number(42, 2) + number(8 + text.size(), 4) + text;
  out += number(2, 2);
  out += number(0x010E, 2) + number(2, 2) + number(text.size(), 4) + number(8, 4);
  out += number(0x0112, 2) + number(3, 2) + number(1, 4) + number(orientation, 2) + number(0, 2);
  return out + number(0, 4);
}

std::string with_exif(const std::string& jpeg, const std::string& exif) {
  const std::string payload = std::string("Exif\0\0", 6) + exif;
  return jpeg.substr(0, 2) + "\xFF\xE1" + be(payload.size() + 2, 2) + payload + jpeg.substr(2);
}

std::string patched(std::string text, std::size_t at, std::string_view bytes) {
  return text.replace(at, bytes.size(), bytes);
}

}  // namespace shale::test
