#include "formats/hdf5/hdf5_read_out.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/write_fully.hpp"

#include "formats/hdf5/hdf5_blocks.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_tracking_driver.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRowsAtOnce = 16;
constexpr std::size_t kCacheSlots = 521;

// Of the global heap, as hdf5_unpack.cpp draws it.
constexpr std::uint64_t kReferenceBytes = 16, kHeapHeaderBytes = 32, kHeapPadding = 8;

class PlainWriter {
 public:
  PlainWriter(Hdf5PlainFile into, const std::function<void(std::uint64_t, std::uint64_t)>& wrote)
      : into_(into), wrote_(wrote) {}

  void write(std::uint64_t offset, Bytes bytes) {
    constexpr std::uint64_t kAtOnce = 1 << 20;
    while (!bytes.empty()) {
      const Bytes piece = bytes.first(std::min<std::uint64_t>(bytes.size(), kAtOnce - unsaid_));
      write_fully(into_.file.descriptor(), piece, offset, into_.file.path());
      offset += piece.size();
      bytes = bytes.subspan(piece.size());
      unsaid_ += piece.size();
      if (unsaid_ == kAtOnce) say();
    }
  }
  void say() { wrote_(std::exchange(unsaid_, 0), into_.end); }

  // A value in a collection of its own. Returns the reference to it.
  std::vector<std::byte> append_value(Bytes value) {
    ByteWriter reference, header;
    reference.write(static_cast<std::uint32_t>(value.size()));
    reference.write(into_.end);
    reference.write(std::uint32_t{1});
    const std::uint64_t padded = (value.size() + kHeapPadding - 1) / kHeapPadding * kHeapPadding;
    header.write_text(std::string_view("GCOL\1\0\0\0", 8));
    header.write(kHeapHeaderBytes + padded);
    header.write_text(std::string_view("\1\0\1\0\0\0\0\0", 8));
    header.write(std::uint64_t{value.size()});
    const std::uint64_t begin = into_.end;
    into_.end += kHeapHeaderBytes + padded;
    write(begin, header.bytes());
    write(begin + kHeapHeaderBytes, value);
    return reference.take();
  }

 private:
  Hdf5PlainFile into_;
  const std::function<void(std::uint64_t, std::uint64_t)>& wrote_;
  std::uint64_t unsaid_ = 0;
};

class DatasetReader {
 public:
  DatasetReader(hid_t file, const Hdf5Target& target, std::uint64_t block_bytes,
                PlainWriter& writer)
      : target_(target),
        dataset_(*target.dataset),
        walk_(dataset_, block_bytes),
        writer_(writer),
        set_(open(file)) {
    const Hdf5Handle type(H5Dget_type(set_.id()), H5Tclose);
    memory_type_ = Hdf5Handle(H5Tcopy(type.id()), H5Tclose);
    if (dataset_.descr.starts_with('>') && H5Tset_order(memory_type_.id(), H5T_ORDER_LE) < 0)
      throw failure("has elements whose byte order cannot be converted");
    file_space_ = Hdf5Handle(H5Dget_space(set_.id()), H5Sclose);
    refuse_change();
    refuse_missing_filters();
  }

  void copy_blocks() {
    std::vector<std::byte> values(walk_.largest_bytes());
    for (; !walk_.is_done(); walk_.advance()) {
      read(select(walk_.block()), values.data());
      Bytes left(values);
      for (Hdf5RunWalk runs(dataset_, walk_.block()); !runs.is_done(); runs.advance()) {
        writer_.write(target_.address + runs.offset(), left.first(runs.run_bytes()));
        left = left.subspan(runs.run_bytes());
      }
    }
  }

  void copy_sequences(std::uint64_t most_bytes) {
    left_bytes_ = most_bytes_ = most_bytes;
    for (std::uint64_t row = 0; row < dataset_.shape[0]; row += kRowsAtOnce) {
      const std::uint64_t rows = std::min(kRowsAtOnce, dataset_.shape[0] - row);
      const Hdf5Handle space = select({{row}, {rows}});
      if (dataset_.type == Hdf5Type::vlen_text) {
        std::array<char*, kRowsAtOnce> texts{};
        read(space, texts.data());
        for (std::uint64_t i = 0; i < rows; ++i)
          copy_value(row + i, texts[i], texts[i] == nullptr ? 0 : std::strlen(texts[i]));
        reclaim(space, texts.data());
      } else {
        std::array<hvl_t, kRowsAtOnce> values{};
        read(space, values.data());
        for (std::uint64_t i = 0; i < rows; ++i) copy_value(row + i, values[i].p, values[i].len);
        reclaim(space, values.data());
      }
    }
  }

 private:
  // A chunk fits into the cache: of one that does not, the library reads each run of a block, down
  // to a single element, by itself.
  [[nodiscard]] Hdf5Handle open(hid_t file) const {
    const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    H5Pset_chunk_cache(access.id(), kCacheSlots, walk_.chunk_bytes(), 1.0);
    // Any other link might lead into another file.
    for (std::size_t slash = 0; slash != std::string::npos;) {
      slash = dataset_.name.find('/', slash + 1);
      H5L_info_t link{};
      const std::string path = dataset_.name.substr(0, slash);
      const bool is_there =
          H5Lget_info(file, path.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
      if (!is_there) throw changed();
    }
    Hdf5Handle set(H5Dopen2(file, dataset_.name.c_str(), access.id()), H5Dclose);
    if (!set.is_valid()) throw failure("cannot be reopened");
    return set;
  }

  void refuse_change() const {
    std::array<hsize_t, H5S_MAX_RANK> sides{};
    const int rank = H5Sget_simple_extent_dims(file_space_.id(), sides.data(), nullptr);
    const bool has_shape = rank >= 0 && std::equal(sides.begin(), sides.begin() + rank,
                                                   dataset_.shape.begin(), dataset_.shape.end());
    const Hdf5Handle layout(H5Dget_create_plist(set_.id()), H5Pclose);
    const bool is_here =
        H5Pget_layout(layout.id()) != H5D_VIRTUAL &&
        (H5Pget_layout(layout.id()) != H5D_CONTIGUOUS || H5Pget_external_count(layout.id()) == 0);
    const H5T_class_t type = H5Tget_class(memory_type_.id());
    const bool is_text = type == H5T_STRING && H5Tis_variable_str(memory_type_.id()) > 0;
    const bool has_type = dataset_.type == Hdf5Type::vlen_text ? is_text
                          : dataset_.type == Hdf5Type::vlen_bytes
                              ? type == H5T_VLEN
                              : !is_text && type != H5T_VLEN &&
                                    H5Tget_size(memory_type_.id()) == dataset_.element_bytes;
    if (!has_shape || !is_here || !has_type) throw changed();
  }

  void refuse_missing_filters() const {
    const Hdf5Handle layout(H5Dget_create_plist(set_.id()), H5Pclose);
    const int count = H5Pget_nfilters(layout.id());
    for (int i = 0; i < count; ++i) {
      std::size_t values = 0;
      unsigned flags = 0, config = 0;
      const H5Z_filter_t filter = H5Pget_filter2(layout.id(), static_cast<unsigned>(i), &flags,
                                                 &values, nullptr, 0, nullptr, &config);
      if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
      const bool has_name = static_cast<std::size_t>(i) < dataset_.filters.size();
      throw Error(Code::unsupported,
                  "dataset '{}' uses the filter {} ({}), which this HDF5 library does not "
                  "have",
                  printable(dataset_.name), filter,
                  has_name ? dataset_.filters[static_cast<std::size_t>(i)] : "no name")
          .hint(
              "rewrite it where that filter is installed (h5repack -f NONE OLD.h5 NEW.h5), or set "
              "HDF5_PLUGIN_PATH to the folder of its plugin");
    }
  }

  // The file's selection is set to a block; the result is the space of the memory it goes to.
  [[nodiscard]] Hdf5Handle select(const Hdf5Block& block) const {
    const std::vector<hsize_t> origin(block.origin.begin(), block.origin.end());
    const std::vector<hsize_t> sides(block.sides.begin(), block.sides.end());
    Hdf5Handle memory(H5Screate_simple(static_cast<int>(sides.size()), sides.data(), nullptr),
                      H5Sclose);
    if (!memory.is_valid() || H5Sselect_hyperslab(file_space_.id(), H5S_SELECT_SET, origin.data(),
                                                  nullptr, sides.data(), nullptr) < 0) {
      throw failure("has a block that cannot be selected");
    }
    return memory;
  }

  void read(const Hdf5Handle& space, void* into) const {
    if (H5Dread(set_.id(), memory_type_.id(), space.id(), file_space_.id(), H5P_DEFAULT, into) < 0)
      throw failure("cannot be unpacked");
  }

  void reclaim(const Hdf5Handle& space, void* values) const {
    H5Dvlen_reclaim(memory_type_.id(), space.id(), H5P_DEFAULT, values);
  }

  void copy_value(std::uint64_t row, const void* begin, std::uint64_t length) {
    // The global heap is not compressed: what the file does not hold was never written.
    if (length > left_bytes_ || length > 0xffffffffU) {
      throw Error(Code::damaged, "the values of '{}' have more bytes than the file: {}",
                  printable(dataset_.name), most_bytes_);
    }
    left_bytes_ -= length;
    if (length == 0) return;  // zeros: the file has them there
    const Bytes value(static_cast<const std::byte*>(begin), length);
    writer_.write(target_.address + row * kReferenceBytes, writer_.append_value(value));
  }

  [[nodiscard]] Error failure(std::string_view what) const {
    const std::string cause = hdf5_failure_cause();
    const bool is_memory = cause.find("memory allocation failed") != std::string::npos;
    Error error(is_memory ? Code::limit : Code::damaged, "dataset '{}' {}",
                printable(dataset_.name), what);
    error.because(cause.empty() ? "no reason given" : cause);
    return error;
  }

  [[nodiscard]] Error changed() const {
    return Error(Code::mismatch, "dataset '{}' changed while it was being read",
                 printable(dataset_.name))
        .hint("wait until nothing writes to the file, then convert it again");
  }

  const Hdf5Target& target_;
  const Hdf5Dataset& dataset_;
  Hdf5BlockWalk walk_;
  PlainWriter& writer_;
  std::uint64_t left_bytes_ = 0, most_bytes_ = 0;  // of values of any length
  Hdf5Handle set_;
  Hdf5Handle memory_type_{-1, H5Tclose}, file_space_{-1, H5Sclose};
};

}  // namespace

void read_out_hdf5(const std::string& path, std::span<const Hdf5Target> targets,
                   std::uint64_t block_bytes, std::uint64_t most_sequence_bytes, Hdf5PlainFile into,
                   const std::function<void(std::uint64_t bytes, std::uint64_t end)>& wrote) {
  const Hdf5TrackedFile file(path);
  try {
    if (!file.is_valid()) {
      throw Error(Code::damaged, "the HDF5 library cannot reopen this file")
          .because(hdf5_failure_cause());
    }
    PlainWriter writer(into, wrote);
    for (const Hdf5Target& target : targets) {
      DatasetReader reader(file.id(), target, block_bytes, writer);
      if (target.dataset->has_variable_length()) {
        reader.copy_sequences(most_sequence_bytes);
      } else {
        reader.copy_blocks();
      }
    }
    writer.say();
  } catch (const Error& error) {
    throw file.reason_of(error);
  }
}

}  // namespace shale
