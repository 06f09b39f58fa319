#include "shale/pixels/image_writers.hpp"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE and does not include it
#include <cstring>
#include <functional>
#include <new>

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#include "shale/base/error.hpp"

namespace shale {
namespace {

// ---- JPEG

constexpr std::size_t kRowsOfBlocks = 16;
constexpr std::size_t kMostSegment = 65533;  // bytes of a marker's payload

// As JpegDecompressor: errors jump, and what runs under the setjmp holds nothing with a destructor.
struct JpegCompressor {
  JpegCompressor();
  ~JpegCompressor() { jpeg_destroy_compress(&state); }
  JpegCompressor(const JpegCompressor&) = delete;
  JpegCompressor& operator=(const JpegCompressor&) = delete;

  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  jpeg_destination_mgr destination{};
  std::jmp_buf escape{};
  std::array<char, JMSG_LENGTH_MAX> message{};
};

[[noreturn]] void leave_compressor(j_common_ptr state) {
  auto& self = *static_cast<JpegCompressor*>(state->client_data);
  state->err->format_message(state, self.message.data());
  std::longjmp(self.escape, 1);
}

bool guarded_writing(JpegCompressor& compressor,
                     const std::function<void(jpeg_compress_struct&)>& work) {
  if (setjmp(compressor.escape) != 0) return false;
  work(compressor.state);
  return true;
}

boolean refuse_to_empty(j_compress_ptr state) {
  state->err->msg_code = JERR_BUFFER_SIZE;
  leave_compressor(reinterpret_cast<j_common_ptr>(state));
}

JpegCompressor::JpegCompressor() {
  state.err = jpeg_std_error(&errors);
  errors.error_exit = leave_compressor;
  errors.output_message = [](j_common_ptr) {};
  destination.init_destination = [](j_compress_ptr) {};
  destination.empty_output_buffer = refuse_to_empty;
  destination.term_destination = [](j_compress_ptr) {};
  state.client_data = this;
  const bool was_made =
      guarded_writing(*this, [](jpeg_compress_struct& fresh) { jpeg_create_compress(&fresh); });
  if (was_made) return;
  jpeg_destroy_compress(&state);
  throw std::bad_alloc();
}

void begin_frame(jpeg_compress_struct& state, const JpegFrame& frame, std::size_t channels) {
  state.image_width = frame.width;
  state.image_height = frame.height;
  state.input_components = static_cast<int>(channels);
  state.in_color_space = channels == 1 ? JCS_GRAYSCALE : frame.is_rgb ? JCS_RGB : JCS_YCbCr;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, static_cast<int>(frame.quality), TRUE);
  state.dct_method = JDCT_ISLOW;
  if (channels == 3) {
    state.comp_info[0].h_samp_factor = static_cast<int>(frame.chroma_across);
    state.comp_info[0].v_samp_factor = static_cast<int>(frame.chroma_down);
  }
  state.raw_data_in = frame.is_rgb ? FALSE : TRUE;
  jpeg_start_compress(&state, TRUE);
}

void write_segment(jpeg_compress_struct& state, int marker, Bytes head, Bytes payload) {
  jpeg_write_m_header(&state, marker, static_cast<unsigned>(head.size() + payload.size()));
  for (const Bytes part : {head, payload}) {
    for (const std::byte byte : part) jpeg_write_m_byte(&state, static_cast<int>(byte));
  }
}

void write_metadata(jpeg_compress_struct& state, const ImageMetadata& metadata) {
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kExif = "Exif\0\0"sv, kIcc = "ICC_PROFILE\0"sv;
  if (!metadata.exif.empty() && metadata.exif.size() + kExif.size() <= kMostSegment) {
    write_segment(state, JPEG_APP0 + 1, as_bytes(kExif), metadata.exif);
  }
  const std::size_t most = kMostSegment - kIcc.size() - 2;
  const std::size_t pieces = (metadata.icc.size() + most - 1) / most;
  if (pieces > 255) return;
  for (std::size_t i = 0; i < pieces; ++i) {
    std::array<char, kIcc.size() + 2> head{};
    std::copy(kIcc.begin(), kIcc.end(), head.begin());
    head[kIcc.size()] = static_cast<char>(i + 1);
    head[kIcc.size() + 1] = static_cast<char>(pieces);
    const Bytes rest = Bytes(metadata.icc).subspan(i * most);
    write_segment(state, JPEG_APP0 + 2, as_bytes({head.data(), head.size()}),
                  rest.first(std::min(most, rest.size())));
  }
}

// Rows of blocks: 8 or 16 rows of luma, 8 of chroma. The planes' padding reaches to the end of the
// last block, and the last row is repeated beyond it.
void write_planes(jpeg_compress_struct& state, std::vector<Plane>& planes) {
  std::array<std::array<JSAMPROW, kRowsOfBlocks>, 3> rows{};
  std::array<JSAMPARRAY, 3> arrays{};
  const auto at_once = static_cast<JDIMENSION>(DCTSIZE * state.max_v_samp_factor);
  for (std::uint64_t group = 0; state.next_scanline < state.image_height; ++group) {
    for (std::size_t c = 0; c < planes.size(); ++c) {
      Plane& plane = planes[c];
      const auto count = static_cast<std::uint64_t>(state.comp_info[c].v_samp_factor) * DCTSIZE;
      const std::uint64_t last = plane.bytes.size() / plane.stride - 1;
      for (std::uint64_t i = 0; i < count; ++i) {
        rows[c][i] = plane.row(std::min(group * count + i, last));
      }
      arrays[c] = rows[c].data();
    }
    jpeg_write_raw_data(&state, arrays.data(), at_once);
  }
}

void write_rgb_rows(jpeg_compress_struct& state, std::vector<Plane>& planes) {
  JSAMPARRAY row = state.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&state), JPOOL_IMAGE,
                                           3 * state.image_width, 1);
  while (state.next_scanline < state.image_height) {
    const std::uint64_t y = state.next_scanline;
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint8_t* const from = planes[c].row(y);
      for (std::size_t x = 0; x < state.image_width; ++x) row[0][3 * x + c] = from[x];
    }
    jpeg_write_scanlines(&state, row, 1);
  }
}

// ---- PNG

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

std::uint64_t write_jpeg(std::vector<Plane>& planes, const JpegFrame& frame,
                         const ImageMetadata& metadata, std::vector<std::byte>& into) {
  JpegCompressor compressor;
  const std::uint64_t room =
      most_jpeg_bytes(frame, static_cast<unsigned>(planes.size()), metadata.size());
  if (into.size() < room) into.resize(room);
  compressor.destination.next_output_byte = reinterpret_cast<JOCTET*>(into.data());
  compressor.destination.free_in_buffer = into.size();
  compressor.state.dest = &compressor.destination;
  const bool was_written = guarded_writing(compressor, [&](jpeg_compress_struct& state) {
    begin_frame(state, frame, planes.size());
    write_metadata(state, metadata);
    if (frame.is_rgb) {
      write_rgb_rows(state, planes);
    } else {
      write_planes(state, planes);
    }
    jpeg_finish_compress(&state);
  });
  if (!was_written) {
    throw Error(Code::bug, "libjpeg does not write {} x {} pixels", frame.width, frame.height)
        .because(compressor.message.data());
  }
  return into.size() - compressor.destination.free_in_buffer;
}

// TurboJPEG's tjBufSize(): 2 bytes per luma sample, and 2 per chroma sample, in whole blocks.
std::uint64_t most_jpeg_bytes(const JpegFrame& frame, unsigned channels,
                              std::uint64_t metadata_bytes) {
  const auto padded = [](std::uint64_t side) { return (side + 15) / 16 * 16; };
  const std::uint64_t pixels = padded(frame.width) * padded(frame.height);
  const std::uint64_t chroma = channels == 1 ? 0 : 4 / (frame.chroma_across * frame.chroma_down);
  const std::uint64_t segments = metadata_bytes / 60000 + 2;
  return pixels * (2 + chroma) + 2048 + metadata_bytes + segments * 32;
}

std::uint64_t jpeg_writer_bytes(const JpegFrame& frame) {
  constexpr std::uint64_t kTables = std::uint64_t{128} << 10, kRowsInside = 160;
  return kTables + (std::uint64_t{frame.width} + 16) * kRowsInside;
}

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
