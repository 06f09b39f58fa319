#include "shale/pixels/png_writer.hpp"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <new>

#include <png.h>

#include "shale/base/error.hpp"

namespace shale {
namespace {

// As in PngReader: errors jump, and what runs under the setjmp holds nothing with a destructor.
struct PngWriter {
  PngWriter();
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf escape{};
  std::byte* into = nullptr;
  std::uint64_t room = 0, written = 0;
};

[[noreturn]] void leave_writer(png_structp png, png_const_charp) {
  std::longjmp(static_cast<PngWriter*>(png_get_error_ptr(png))->escape, 1);
}

void write_some(png_structp png, png_bytep bytes, std::size_t count) {
  auto& self = *static_cast<PngWriter*>(png_get_io_ptr(png));
  if (count > self.room - self.written) png_error(png, "no room");
  std::memcpy(self.into + self.written, bytes, count);
  self.written += count;
}

PngWriter::PngWriter() {
  if (setjmp(escape) != 0) return;
  png = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, leave_writer,
                                [](png_structp, png_const_charp) {});
  if (png == nullptr) return;
  info = png_create_info_struct(png);
  png_set_write_fn(png, this, write_some, [](png_structp) {});
}

// What of the two kinds of input libpng has to know.
struct PngFrame {
  std::uint32_t width, height;
  int bits, color_type;
  const Picture* picture;  // null: planes
  const std::vector<Plane>* planes;
  const ImageMetadata* metadata;
  std::uint64_t row_bytes;
  std::uint8_t* row;  // of interleaved planes
};

void write_colors(PngWriter& writer, const Picture& picture) {
  std::array<png_color, 256> colors{};
  std::array<png_byte, 256> alpha{};
  if (picture.has_palette) {
    // A sample may name a color that the source's palette lacks; libpng wants all that are named.
    const std::size_t most = std::size_t{1} << picture.bits;
    const std::size_t named =
        std::size_t{*std::max_element(picture.samples.begin(), picture.samples.end())} + 1;
    const std::size_t count = std::min(most, std::max(picture.palette.size(), named));
    for (std::size_t i = 0; i < std::min(count, picture.palette.size()); ++i) {
      colors[i] = {picture.palette[i][0], picture.palette[i][1], picture.palette[i][2]};
    }
    png_set_PLTE(writer.png, writer.info, colors.data(), static_cast<int>(count));
    const std::size_t clear = std::min(picture.palette_alpha.size(), count);
    for (std::size_t i = 0; i < clear; ++i) alpha[i] = picture.palette_alpha[i];
    if (clear != 0) {
      png_set_tRNS(writer.png, writer.info, alpha.data(), static_cast<int>(clear), nullptr);
    }
  } else if (picture.transparent) {
    const auto& clear = *picture.transparent;
    const png_color_16 color = {0, clear[0], clear[1], clear[2], clear[0]};
    png_set_tRNS(writer.png, writer.info, nullptr, 0, &color);
  }
}

void write_header(PngWriter& writer, const PngFrame& frame) {
  png_set_IHDR(writer.png, writer.info, frame.width, frame.height, frame.bits, frame.color_type,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (frame.picture != nullptr) write_colors(writer, *frame.picture);
  const ImageMetadata& metadata = *frame.metadata;
  if (!metadata.icc.empty()) {
    // A profile that is not to libpng's taste is left out by it, with a warning to nobody.
    png_set_benign_errors(writer.png, 1);
    png_set_iCCP(writer.png, writer.info, "ICC profile", PNG_COMPRESSION_TYPE_BASE,
                 reinterpret_cast<png_const_bytep>(metadata.icc.data()),
                 static_cast<png_uint_32>(metadata.icc.size()));
  }
  if (!metadata.exif.empty()) {
    // libpng copies it, and does not write to it.
    png_set_eXIf_1(writer.png, writer.info, static_cast<png_uint_32>(metadata.exif.size()),
                   reinterpret_cast<png_bytep>(const_cast<std::byte*>(metadata.exif.data())));
  }
  png_write_info(writer.png, writer.info);
  if (frame.picture == nullptr) return;
  png_set_packing(writer.png);
  png_set_swap(writer.png);
}

const std::uint8_t* row_of(const PngFrame& frame, std::uint32_t y) {
  if (frame.picture != nullptr) return frame.picture->row(y);
  const std::vector<Plane>& planes = *frame.planes;
  if (planes.size() == 1) return planes[0].row(y);
  const std::uint8_t* const red = planes[0].row(y);
  const std::uint8_t* const green = planes[1].row(y);
  const std::uint8_t* const blue = planes[2].row(y);
  for (std::size_t x = 0; x < frame.width; ++x) {
    frame.row[3 * x] = red[x];
    frame.row[3 * x + 1] = green[x];
    frame.row[3 * x + 2] = blue[x];
  }
  return frame.row;
}

bool write_frame(PngWriter& writer, const PngFrame& frame) {
  if (setjmp(writer.escape) != 0) return false;
  write_header(writer, frame);
  for (std::uint32_t y = 0; y < frame.height; ++y) png_write_row(writer.png, row_of(frame, y));
  png_write_end(writer.png, nullptr);  // with the info it would write eXIf once more
  return true;
}

std::uint64_t write_to(const PngFrame& frame, std::vector<std::byte>& into) {
  PngWriter writer;
  if (writer.info == nullptr) throw std::bad_alloc();
  const std::uint64_t room = most_png_bytes(frame.row_bytes, frame.height, frame.metadata->size());
  if (into.size() < room) into.resize(room);
  writer.into = into.data();
  writer.room = into.size();
  if (!write_frame(writer, frame)) {
    throw Error(Code::bug, "a PNG of {} x {} does not fit {} bytes", frame.width, frame.height,
                writer.room);
  }
  return writer.written;
}

}  // namespace

std::uint64_t most_png_bytes(std::uint64_t row_bytes, std::uint64_t rows,
                             std::uint64_t metadata_bytes) {
  const std::uint64_t plain = (row_bytes + 1) * rows;
  // Deflate adds 5 bytes to each of its blocks, or an eighth with the small window that libpng uses
  // for little data; an IDAT chunk of 8 KiB has 12 of its own.
  const std::uint64_t deflated = plain + std::min<std::uint64_t>(plain / 8, 4096) + plain / 512;
  return deflated + (deflated / 8192 + 2) * 12 + metadata_bytes + metadata_bytes / 64 + 4096;
}

std::uint64_t write_png(const std::vector<Plane>& planes, const ImageMetadata& metadata,
                        std::vector<std::byte>& into) {
  std::vector<std::uint8_t> row(std::size_t{planes[0].width} * 3);
  return write_to({.width = planes[0].width,
                   .height = planes[0].height,
                   .bits = 8,
                   .color_type = planes.size() == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                   .picture = nullptr,
                   .planes = &planes,
                   .metadata = &metadata,
                   .row_bytes = std::uint64_t{planes[0].width} * planes.size(),
                   .row = row.data()},
                  into);
}

std::uint64_t write_png(const Picture& picture, const ImageMetadata& metadata,
                        std::vector<std::byte>& into) {
  constexpr int kColorTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
  return write_to({.width = picture.width,
                   .height = picture.height,
                   .bits = static_cast<int>(picture.bits),
                   .color_type = picture.has_palette ? PNG_COLOR_TYPE_PALETTE
                                                     : kColorTypes[picture.channels - 1],
                   .picture = &picture,
                   .planes = nullptr,
                   .metadata = &metadata,
                   .row_bytes = picture.row_bytes(),
                   .row = nullptr},
                  into);
}

}  // namespace shale
