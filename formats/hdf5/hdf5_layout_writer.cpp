#include "formats/hdf5/hdf5_layout_writer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/format/column_spill.hpp"
#include "shale/format/layout.hpp"
#include "shale/image/rgb.hpp"
#include "shale/trees/hdf5_metadata.hpp"
#include "shale/wire/hdf5_types.hpp"

#include "formats/hdf5/hdf5_columns.hpp"

//  +0    superblock, root group, the object headers of `images` and `labels` (hdf5_metadata.cpp)
//  vlen:
//  then  collections of the global heap, each of one large image or of several small ones:
//        +0   "GCOL", u8 1, 3 zeros, u64 bytes of the collection, 4096 or more
//        +16  objects: u16 number from 1, u16 1, 4 zeros, u64 bytes; the image, padded to 8
//        then u16 0, u16 0, 4 zeros, u64 bytes to the end, this header among them: what is left
//  then  `images`, a reference per image: u32 bytes, u64 address of its collection, u32 number
//  fixed:
//  then  `images`, (N, H, W, 3) uint8
//  both:
//  then  `labels`, (N) int64; each dataset at a multiple of 64
//  Source: HDF5 File Format Specification 3.0, III.E (global heap), IV.B; the least size of a
//  collection is H5HG_MINSIZE of the library (src/H5HGprivate.h), which reads no smaller one.

namespace shale {
namespace {

constexpr std::string_view kVlenLayout = "vlen", kFixedLayout = "fixed";
constexpr std::uint32_t kImages = 0, kLabels = 1;  // the parts, and the columns
constexpr std::uint64_t kLeastCollection = 4096, kHeapHeader = 16, kMostImageBytes = 0xffffffff;
constexpr std::uint64_t kMostPixels = 48 << 20;  // bytes: they come on top of --memory
constexpr std::uint64_t kChannels = 3;

std::uint64_t padded_to(std::uint64_t unit, std::uint64_t bytes) {
  return (bytes + unit - 1) / unit * unit;
}

class ImageFileWriter : public ShardWriter {
 public:
  explicit ImageFileWriter(OutputFile& file)
      : file_(file), spill_(folder_of_file(file.path()), 2) {}

  std::span<const std::uint64_t> append(const Record& record) override {
    if (samples_ == 0) file_.append_zeros(head_bytes());
    take(record, samples_);
    record.parts[kLabels].for_each_piece([&](Bytes piece) { spill_.append(kLabels, piece); });
    ++samples_;
    return kNowhere;
  }

  ClosedShard close() override {
    if (samples_ == 0) file_.append_zeros(head_bytes());
    const ContiguousData images = finish_images();
    const ContiguousData labels = add_column(kLabels, samples_ * sizeof(std::int64_t));
    file_.patch(0, head(images, labels));
    return {};
  }

 protected:
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] OutputFile& file() { return file_; }
  [[nodiscard]] ColumnSpill& spill() { return spill_; }

  // Writes a column that was spilled.
  [[nodiscard]] ContiguousData add_column(std::size_t column, std::uint64_t bytes) {
    if (bytes == 0) return {};
    file_.append_zeros(padded_to(kColumnAlignment, file_.size()) - file_.size());
    const std::uint64_t begin = file_.size();
    spill_.read(column, [&](Bytes piece) { file_.append(piece); });
    return {begin, bytes};
  }

 private:
  virtual void take(const Record& record, std::uint64_t number) = 0;
  virtual ContiguousData finish_images() = 0;
  [[nodiscard]] virtual std::vector<std::uint64_t> image_sides() const = 0;
  [[nodiscard]] virtual std::vector<std::byte> image_type() const = 0;

  [[nodiscard]] std::vector<std::byte> head(const ContiguousData& images,
                                            const ContiguousData& labels) const {
    const std::array<std::uint64_t, 1> rows = {samples_};
    const std::vector<NamedHeader> headers = {
        {"images", dataset_header_bytes(image_sides(), image_type(), images)},
        {"labels", dataset_header_bytes(rows, datatype_bytes(DType::parse("<i8")), labels)}};
    return file_head_bytes(headers, file_.size());
  }
  // Sides and addresses have a fixed width: it is written last, into the place left for it.
  [[nodiscard]] std::uint64_t head_bytes() const {
    return padded_to(kColumnAlignment, head({}, {}).size());
  }

  static constexpr std::array<std::uint64_t, 2> kNowhere = {0, 0};
  OutputFile& file_;
  ColumnSpill spill_;
  std::uint64_t samples_ = 0;
};

class VlenWriter final : public ImageFileWriter {
 public:
  using ImageFileWriter::ImageFileWriter;

 private:
  void take(const Record& record, std::uint64_t number) override {
    const Blob& image = record.parts[kImages];
    ByteWriter reference;
    if (image.size() > kMostImageBytes) {
      throw Error(Code::limit, "layout vlen holds values of at most {} bytes, and this has {}",
                  kMostImageBytes, image.size())
          .for_sample(record.key, number);
    }
    if (image.size() == 0) return spill().append(kImages, std::array<std::byte, 16>{});
    const std::uint64_t bytes = kHeapHeader + padded_to(8, image.size());
    reference.write(static_cast<std::uint32_t>(image.size()));
    reference.write(file().size());  // of its collection, which is written next
    reference.write(++last_object_);
    spill().append(kImages, reference.bytes());
    ByteWriter header;
    header.write(static_cast<std::uint16_t>(last_object_));
    header.write(std::uint16_t{1});
    header.write(std::uint32_t{0});
    header.write(image.size());
    const std::uint64_t padding = bytes - kHeapHeader - image.size();
    const std::uint64_t collection = kHeapHeader + objects_.size() + bytes;
    if (collection < kLeastCollection) {
      objects_.write_bytes(header.bytes());
      image.for_each_piece([&](Bytes piece) { objects_.write_bytes(piece); });
      for (std::uint64_t i = 0; i < padding; ++i) objects_.write(std::uint8_t{0});
      return;
    }
    write_waiting(collection);
    file().append(header.bytes());
    image.for_each_piece([&](Bytes piece) { file().append(piece); });
    file().append_zeros(padding);
  }

  // The objects that wait, as the beginning of a collection of so many bytes.
  void write_waiting(std::uint64_t collection_bytes) {
    write_collection_header(collection_bytes);
    file().append(objects_.bytes());
    objects_.clear();
    last_object_ = 0;
  }

  void write_collection_header(std::uint64_t bytes) {
    ByteWriter header;
    header.write_text(std::string_view("GCOL\1\0\0\0", 8));
    header.write(bytes);
    file().append(header.bytes());
  }

  // The last ones, and what the least collection has beyond them.
  void write_last_objects() {
    const std::uint64_t left = kLeastCollection - kHeapHeader - objects_.size();
    write_waiting(kLeastCollection);
    // Less than a header is too little for one, and stays zeros.
    if (left < kHeapHeader) return file().append_zeros(left);
    file().append_zeros(8);
    file().append(bytes_of(left));
    file().append_zeros(left - kHeapHeader);
  }

  ContiguousData finish_images() override {
    if (objects_.size() > 0) write_last_objects();
    return add_column(kImages, samples() * 16);
  }
  [[nodiscard]] std::vector<std::uint64_t> image_sides() const override { return {samples()}; }
  [[nodiscard]] std::vector<std::byte> image_type() const override {
    return vlen_type_bytes(false);
  }

  ByteWriter objects_;  // of a collection that is not large enough yet
  std::uint32_t last_object_ = 0;
};

class FixedWriter final : public ImageFileWriter {
 public:
  using ImageFileWriter::ImageFileWriter;

 private:
  void take(const Record& record, std::uint64_t number) override {
    try {
      Bytes image;  // a single piece, as it was encoded
      record.parts[kImages].for_each_piece([&](Bytes piece) { image = piece; });
      take_image(image);
    } catch (Error& error) {
      error.for_sample(record.key, number);
      throw;
    }
  }

  void take_image(Bytes image) {
    const auto room = [this](ImageExtent extent) { return std::span(room_for(extent)); };
    if (std::optional<RgbDecoder> jpeg = RgbDecoder::open(image, kMostPixels)) {
      std::move(*jpeg).decode(PixelOrder::hwc, room(jpeg->extent()));
    } else if (!decode_png_rgb(image, kMostPixels, room)) {
      throw Error(Code::unsupported, "layout fixed decodes only JPEG and PNG images")
          .hint(
              "convert the image to one of these, or choose --layout vlen, which keeps what it is");
    }
    if (begin_ == 0) begin_ = file().size();
    file().append(pixels_);
  }

  std::vector<std::byte>& room_for(ImageExtent extent) {
    if (!size_) size_ = extent;
    if (extent.width != size_->width || extent.height != size_->height) {
      throw Error(Code::unsupported,
                  "the image has {} x {} pixels, but those before it have {} x {}", extent.width,
                  extent.height, size_->width, size_->height)
          .hint(
              "layout fixed holds images of one size: resize them, or choose --layout vlen, which "
              "keeps them as they are");
    }
    pixels_.resize(std::size_t{3} * extent.width * extent.height);
    return pixels_;
  }

  ContiguousData finish_images() override {
    if (samples() == 0) return {};
    return {begin_, file().size() - begin_};
  }
  [[nodiscard]] std::vector<std::uint64_t> image_sides() const override {
    const ImageExtent size = size_.value_or(ImageExtent{});
    return {samples(), size.height, size.width, kChannels};
  }
  [[nodiscard]] std::vector<std::byte> image_type() const override {
    return datatype_bytes(DType::parse("|u1"));
  }

  std::optional<ImageExtent> size_;  // of the first image
  std::uint64_t begin_ = 0;
  std::vector<std::byte> pixels_;
};

}  // namespace

ShardLayout image_file_layout(std::string_view layout, const Schema& schema) {
  if (layout != kVlenLayout && layout != kFixedLayout)
    throw Error(Code::usage, "hdf5 has no layout '{}'", layout).hint("it has flat, vlen and fixed");
  const auto has = [&](Kind kind) {
    return std::any_of(schema.fields.begin(), schema.fields.end(),
                       [&](const Field& field) { return field.kind == kind; });
  };
  if (schema.fields.size() != 2 || !has(Kind::bytes) || !has(Kind::integer)) {
    throw Error(Code::unsupported, "an HDF5 file of layout {} has images and integer labels alone",
                layout)
        .hint(kTwoFieldsHint);
  }
  ShardLayout made;
  made.file_suffixes = {".h5"};
  made.part_file = {0, 0};
  for (const Field& field : schema.fields)
    made.field_part.push_back(field.kind == Kind::bytes ? kImages : kLabels);
  return made;
}

Record encode_image_and_label(const Sample& sample, const Schema& schema) {
  Record record;
  record.key = sample.key;
  record.parts.resize(2);
  record.row.cells.resize(schema.fields.size());
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    IndexCell& cell = record.row.cells[i];
    if (schema.fields[i].kind == Kind::integer) {
      cell.integer = std::get<std::int64_t>(sample.values[i]);
      record.parts[kLabels].append_copy(bytes_of(cell.integer));
      continue;
    }
    const Bytes image = std::get<Bytes>(sample.values[i]);
    record.parts[kImages].append_view(image);
    cell.place = {.offset = 0, .length = image.size(), .crc32c = crc32c(image)};
  }
  return record;
}

std::unique_ptr<ShardWriter> create_image_file(std::string_view layout, OutputFile& file) {
  if (layout == kVlenLayout) return std::make_unique<VlenWriter>(file);
  return std::make_unique<FixedWriter>(file);
}

}  // namespace shale
