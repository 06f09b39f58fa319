#include "formats/hdf5/hdf5_read_out.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

#include "formats/hdf5/hdf5_blocks.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_tracking_driver.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRowsAtOnce = 16;
constexpr std::size_t kCacheSlots = 521;

class DatasetReader {
 public:
  DatasetReader(hid_t file, const Hdf5Dataset& dataset, std::uint64_t block_bytes,
                const std::function<void(Bytes)>& send)
      : dataset_(dataset), walk_(dataset, block_bytes), send_(send), set_(open(file)) {
    const Hdf5Handle type(H5Dget_type(set_.id()), H5Tclose);
    memory_type_ = Hdf5Handle(H5Tcopy(type.id()), H5Tclose);
    if (dataset.descr.starts_with('>') && H5Tset_order(memory_type_.id(), H5T_ORDER_LE) < 0)
      throw failure("has elements whose byte order cannot be converted");
    file_space_ = Hdf5Handle(H5Dget_space(set_.id()), H5Sclose);
    refuse_change();
    refuse_missing_filters();
  }

  void send_blocks() {
    std::vector<std::byte> values(walk_.largest_bytes());
    for (; !walk_.is_done(); walk_.advance()) {
      const Hdf5Handle space = select(walk_.block());
      read(space, values.data());
      for (Bytes left = Bytes(values).first(walk_.block_bytes()); !left.empty();) {
        const Bytes piece = left.first(std::min<std::size_t>(left.size(), kReadOutBytes));
        send_(piece);
        left = left.subspan(piece.size());
      }
    }
  }

  void send_sequences() {
    for (std::uint64_t row = 0; row < dataset_.shape[0]; row += kRowsAtOnce) {
      const std::uint64_t rows = std::min(kRowsAtOnce, dataset_.shape[0] - row);
      const Hdf5Handle space = select({{row}, {rows}});
      if (dataset_.type == Hdf5Type::vlen_text) {
        std::array<char*, kRowsAtOnce> texts{};
        read(space, texts.data());
        for (std::uint64_t i = 0; i < rows; ++i)
          send_value(texts[i], texts[i] == nullptr ? 0 : std::strlen(texts[i]));
        reclaim(space, texts.data());
      } else {
        std::array<hvl_t, kRowsAtOnce> values{};
        read(space, values.data());
        for (std::uint64_t i = 0; i < rows; ++i) send_value(values[i].p, values[i].len);
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

  void send_value(const void* begin, std::uint64_t length) const {
    Bytes left(static_cast<const std::byte*>(begin), length);
    ByteWriter first;
    first.write(length);
    const std::size_t fits = kReadOutBytes - first.size();
    first.write_bytes(left.first(std::min<std::size_t>(left.size(), fits)));
    send_(first.bytes());
    left = left.subspan(std::min<std::size_t>(left.size(), fits));
    while (!left.empty()) {
      const Bytes piece = left.first(std::min<std::size_t>(left.size(), kReadOutBytes));
      send_(piece);
      left = left.subspan(piece.size());
    }
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

  const Hdf5Dataset& dataset_;
  Hdf5BlockWalk walk_;
  const std::function<void(Bytes)>& send_;
  Hdf5Handle set_;
  Hdf5Handle memory_type_{-1, H5Tclose}, file_space_{-1, H5Sclose};
};

void read_out(const Hdf5TrackedFile& file, std::span<const Hdf5Dataset* const> datasets,
              std::uint64_t block_bytes, const std::function<void(Bytes)>& send) {
  if (!file.is_valid()) {
    throw Error(Code::damaged, "the HDF5 library cannot reopen this file")
        .because(hdf5_failure_cause());
  }
  for (const Hdf5Dataset* dataset : datasets) {
    DatasetReader reader(file.id(), *dataset, block_bytes, send);
    const bool is_vlen =
        dataset->type == Hdf5Type::vlen_bytes || dataset->type == Hdf5Type::vlen_text;
    is_vlen ? reader.send_sequences() : reader.send_blocks();
  }
}

}  // namespace

void read_out_hdf5(const std::string& path, std::span<const Hdf5Dataset* const> datasets,
                   std::uint64_t block_bytes, const std::function<void(Bytes)>& send) {
  const Hdf5TrackedFile file(path);
  try {
    read_out(file, datasets, block_bytes, send);
  } catch (const Error& error) {
    throw file.reason_of(error);
  }
}

}  // namespace shale
