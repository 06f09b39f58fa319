#include <fmt/format.h>
#include <jerror.h>

#include "shale/image/codecs.hpp"
#include "shale/image/jpeg_decompressor.hpp"
#include "shale/image/probe.hpp"

namespace shale {
namespace {

const char* color_name(J_COLOR_SPACE color) {
  switch (color) {
    case JCS_GRAYSCALE:
      return "gray";
    case JCS_RGB:
      return "rgb";
    case JCS_YCbCr:
      return "ycc";
    case JCS_CMYK:
      return "cmyk";
    case JCS_YCCK:
      return "ycck";
    default:
      return "";
  }
}

// The pixels are asked for at 1/8 scale: every Huffman code is read and judged just the same, which
// is where damage shows, but nearly all of the inverse DCT, the upsampling and the color conversion
// falls away. Checked: the same verdicts as at full scale on 200 ImageNet photos and 2,000 copies
// with bytes changed at random, in two thirds of the time (AMD EPYC, libjpeg-turbo 2.1.5).
void decode_all(jpeg_decompress_struct& state) {
  jpeg_read_header(&state, TRUE);
  state.scale_num = 1;
  state.scale_denom = 8;
  state.out_color_space = state.jpeg_color_space;
  state.do_fancy_upsampling = FALSE;
  state.do_block_smoothing = FALSE;
  state.dct_method = JDCT_IFAST;
  jpeg_start_decompress(&state);
  const auto row_samples = state.output_width * static_cast<JDIMENSION>(state.output_components);
  JSAMPARRAY row =
      state.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&state), JPOOL_IMAGE, row_samples, 1);
  read_jpeg_rows(
      state, state.output_height, [row](JDIMENSION) { return *row; },
      [](JDIMENSION, JDIMENSION) {});
  jpeg_finish_decompress(&state);  // reads on to the EOI
}

}  // namespace

JpegTables parse_jpeg_tables(Bytes header) {
  // Kept from image to image: making one costs more than parsing with it.
  thread_local JpegDecompressor decompressor;
  decompressor.warnings_count =
      false;  // stray bytes between segments are odd, no reader minds them
  JpegTables tables;
  decompressor.set_source(header);
  if (guarded(decompressor,
              [](jpeg_decompress_struct& state) { jpeg_read_header(&state, TRUE); })) {
    tables.width = decompressor.state.image_width;
    tables.height = decompressor.state.image_height;
    tables.color = color_name(decompressor.state.jpeg_color_space);
  } else if (is_unsupported_jpeg(decompressor.message_code)) {
    tables.is_supported = false;
  } else {
    tables.objection = decompressor.message.data();
  }
  jpeg_abort_decompress(&decompressor.state);
  return tables;
}

DecodeResult discard_jpeg(Bytes bytes, std::uint64_t limit_bytes) {
  // A fresh one for each image: tables left over from the last image would hide that this one lacks
  // its own.
  JpegDecompressor decompressor;
  decompressor.set_source(bytes);
  decompressor.limit_scans();
  decompressor.limit_memory(limit_bytes);
  if (guarded(decompressor, decode_all)) return {.was_decoded = true, .fault = {}};
  if (decompressor.message_code == JERR_IMAGE_TOO_BIG) {
    return {
        .was_decoded = true,
        .fault = fmt::format("does not decode: JPEG of {} x {}, libjpeg reads {} a side at most",
                             decompressor.state.image_width, decompressor.state.image_height,
                             JPEG_MAX_DIMENSION)};
  }
  if (is_unsupported_jpeg(decompressor.message_code)) return {};
  if (is_out_of_memory(decompressor.message_code)) {
    return {.was_decoded = true,
            .fault = fmt::format(
                "does not decode: JPEG of {} x {} needs more than the {} bytes allowed",
                decompressor.state.image_width, decompressor.state.image_height, limit_bytes)};
  }
  return {.was_decoded = true,
          .fault = fmt::format("does not decode as JPEG: {}", decompressor.message.data())};
}

DecodeResult decode_and_discard(Bytes bytes, ImageType type, std::uint64_t limit_bytes) {
  if (type == ImageType::jpeg) return discard_jpeg(bytes, limit_bytes);
  if (type == ImageType::png) return discard_png(bytes, limit_bytes);
  return {};
}

}  // namespace shale
