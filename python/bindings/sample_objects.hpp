#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "shale/base/events.hpp"
#include "shale/format/format.hpp"
#include "shale/image/rgb.hpp"
#include "shale/loading/loader.hpp"

namespace shale::python {

/// Above this Pillow, too, takes an image for a decompression bomb (179 million pixels).
inline constexpr std::uint64_t kMostPixelBytes = 512 << 20;

/// numpy.empty.
[[nodiscard]] nanobind::object empty_array();
/// What it makes for an image, an array of uint8; its memory, or that of any other fresh array.
[[nodiscard]] nanobind::object empty_pixels(nanobind::handle empty, ImageExtent extent,
                                            PixelOrder order);
[[nodiscard]] std::span<std::byte> memory_of_array(nanobind::handle array);

/// One entry of the dictionaries that samples become.
struct OutputField {
  nanobind::object name;             ///< interned
  std::optional<std::size_t> field;  ///< of the schema; none: the key
  Kind kind = Kind::text;
  std::optional<PixelOrder> decoding = {};  ///< what images among the values are turned into
  nanobind::object shape, dtype;            ///< of a tensor, as numpy.empty takes them
  /// Of a ragged tensor, whose shape is its own: where that begins in IndexRow::sides.
  std::optional<std::size_t> first_side = {};
  bool holds_texts = false;          ///< a list of text
  nanobind::object as_numbers = {};  ///< what makes numbers of a tensor of raw bytes
};

/// Arrays that the tensors of samples are read into, instead of fresh ones.
struct GivenArrays {
  std::span<const nanobind::object> lists;  ///< for each field a list of arrays, or None
  std::span<const std::size_t> places;      ///< of each sample in the lists
};

/// Memory that is kept from batch to batch, so that its pages stay backed: touching fresh ones
/// costs more than the read itself. Used under the GIL only.
class MemoryPool {
 public:
  struct Scratch {
    std::unique_ptr<std::byte[]> bytes;
    std::uint64_t capacity = 0;
  };
  [[nodiscard]] Scratch take(std::uint64_t bytes);
  void put_back(Scratch scratch);
  /// Keeps the heap from shrinking when the objects up to `highest`, which Python frees one by one,
  /// are gone: glibc gives the end of its heap back to the kernel as soon as it is free, and each
  /// batch would have it backed again. A small block above them is all it takes. Measured: batches
  /// of 64 samples of 110 KB in a third of the time (2 cores, AMD EPYC, 21 November 2026).
  void keep_backed(const std::byte* highest);

 private:
  std::vector<Scratch> free_;
  std::unique_ptr<std::byte[]> heap_end_;
};

/// Samples on their way from extents to Python objects. Made and finished under the GIL; between
/// the two the reads fill the memory that it handed out.
class SampleObjects {
 public:
  /// Takes the memory of all values. All must outlive it.
  /// Errors: Code::damaged for a tensor of another size than the schema's, or than its own shape.
  SampleObjects(const Loader& loader, std::span<const LocatedSample> samples,
                std::span<const OutputField> fields, GivenArrays given, MemoryPool& pool);
  ~SampleObjects();
  SampleObjects(const SampleObjects&) = delete;
  SampleObjects& operator=(const SampleObjects&) = delete;

  [[nodiscard]] std::span<const Fetch> fetches() const { return fetches_; }
  /// JPEGs become arrays in three steps, the first and the last without the GIL. Anything that is
  /// not a JPEG stays bytes. Errors: Code::bad_content naming the sample, for one that does not
  /// decode; Code::interrupted.
  void open_images();
  void make_pixels();
  void decode_images(const Events& events);
  [[nodiscard]] bool has_images() const { return !images_.empty(); }

  /// A dictionary for each sample. Errors: Code::damaged for text that is not UTF-8 or a malformed
  /// list.
  [[nodiscard]] nanobind::list finish(const Format& format, bool has_keys);

 private:
  struct Cell {
    nanobind::object object;  // bytes or array that is being filled; null: in the scratch memory
    std::span<std::byte> bytes;
  };
  /// A value that is to be decoded. There is no decoder once it has done its work, or if it is not
  /// a JPEG.
  struct Image {
    std::size_t cell;
    std::uint64_t row;
    PixelOrder order;
    std::optional<RgbDecoder> decoder;
    std::span<std::byte> pixels;
  };
  [[nodiscard]] Cell make_cell(std::size_t sample, std::size_t field,
                               std::span<std::byte>& scratch) const;
  [[nodiscard]] nanobind::object fresh_array(const LocatedSample& sample,
                                             const OutputField& field) const;
  [[nodiscard]] nanobind::object value_of(const LocatedSample& sample, const OutputField& field,
                                          Cell& cell, const Format& format, bool has_keys) const;

  const Loader& loader_;
  std::span<const LocatedSample> samples_;
  std::span<const OutputField> fields_;
  GivenArrays given_;
  MemoryPool& pool_;
  MemoryPool::Scratch scratch_;
  nanobind::object empty_;  // numpy.empty, where there is use for it
  std::vector<Cell> cells_;
  std::vector<Fetch> fetches_;
  std::vector<Image> images_;
};

}  // namespace shale::python
