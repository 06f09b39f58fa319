#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/loading/view_steps.hpp"
#include "shale/pixels/image_view.hpp"

namespace shale {

/// What becomes of the pixels of a view: how an image lies in a batch.
struct ViewPixels {
  unsigned channels = 3;  ///< of the result, 1 or 3; 1 is gray by Pillow's convert("L")
  bool is_gray = false;   ///< with 3 channels: gray, three times (torchvision's Grayscale(3))
  /// One byte per pixel as the file stores it, a gray level or a color's number in the palette:
  /// masks. Of each axis output i is sample floor(i * length / scaled), as torch's mode "nearest"
  /// has it, by which torchvision scales a tv_tensors.Mask; `kernel` means nothing then.
  bool takes_values = false;
  PixelOrder order = PixelOrder::chw;
  FilterKernel kernel = FilterKernel::triangle;
  bool scaled_decoding = true;
  std::size_t item_bytes = 1;  ///< of an element of the result: 1, 2 or 4
  /// What each of 256 levels becomes: 256 elements for each channel. Empty: levels as they are, of
  /// one byte. The caller computes it with the transforms themselves, so that results are theirs to
  /// the bit, whatever they do to one channel of one pixel.
  std::vector<std::byte> table;
  std::vector<std::byte> fill;  ///< of padding: one element per channel
};

/// Memory that is kept from image to image: of one thread at a time.
struct ViewScratch {
  std::vector<std::byte> levels;
};

/// Decodes what a drawn view shows of an image into its place in a batch.
///
/// Pixels are those that Pillow's convert("RGB") gives the other transforms: alpha is dropped. What
/// cannot be decoded here with the same pixels is a fault, and the caller's business: it crops and
/// scales with Pillow what the same drawn view says. These are
/// - GIF, BMP, PNM and TIFF;
/// - PNGs of 16-bit gray, which Pillow clips to 255 instead of scaling;
/// - JPEGs whose damage libjpeg patches over, if it is above the last row that the view needs, and
///   those that end without an end-of-image marker (or hold no pixels at all);
/// - with `takes_values` all but PNGs with a palette and PNGs of 8-bit gray.
/// Immutable: one object may serve all threads.
class ViewWorker {
 public:
  /// Errors: Code::usage for settings that contradict each other.
  explicit ViewWorker(ViewPixels pixels, SimdLevel level = best_simd_level());

  /// Of the result: what `into` must have.
  [[nodiscard]] std::uint64_t size_of(const DrawnView& drawn) const;
  /// Fills `into`, (channels, height, width) or (height, width, channels) of the view's window, all
  /// of it if there is no fault; with one it has any content. `info`: what probe_image() said.
  /// Besides, it takes kImageWorkLimit at most, and in `scratch` a byte per level of the result,
  /// unless they go straight into it.
  /// The bytes are untrusted. Errors: Code::usage for a view that is none of this image, and for
  /// memory of another size; std::bad_alloc.
  [[nodiscard]] ImageFault run(Bytes image, const ImageInfo& info, const DrawnView& drawn,
                               std::span<std::byte> into, ViewScratch& scratch) const;

 private:
  [[nodiscard]] unsigned read_channels() const {
    return pixels_.is_gray || pixels_.takes_values ? 1 : pixels_.channels;
  }
  void fill_all(std::span<std::byte> into) const;
  void place(const std::byte* levels, const DrawnView& drawn, std::span<std::byte> into) const;

  ViewPixels pixels_;
  bool is_plain_ = false;  // levels stay as they are: the table says so, too
  SimdLevel level_;
};

}  // namespace shale
