#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/columns/own_rows.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/library_scan.hpp"

#include "formats/hdf5/hdf5_columns.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_library_types.hpp"
#include "formats/hdf5/hdf5_own_scan.hpp"
#include "formats/hdf5/hdf5_tracking_driver.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;

Error cannot(std::string_view what, std::string_view name) {
  return Error(Code::damaged, "the HDF5 library cannot {} '{}'", what, printable(name))
      .because(hdf5_failure_cause());
}

// One dataset, open in the library.
class LibraryColumn {
 public:
  LibraryColumn(const Hdf5TrackedFile& file, const Hdf5Column& column)
      : name_(column.name),
        dataset_(H5Dopen2(file.id(), column.name.c_str(), H5P_DEFAULT), H5Dclose),
        type_(dataset_.is_valid() ? H5Dget_type(dataset_.id()) : -1, H5Tclose),
        space_(dataset_.is_valid() ? H5Dget_space(dataset_.id()) : -1, H5Sclose) {
    if (!dataset_.is_valid() || !type_.is_valid() || !space_.is_valid())
      throw cannot("open the dataset", name_);
    element_bytes_ = H5Tget_size(type_.id());
    std::array<hsize_t, H5S_MAX_RANK> sides{};
    const int rank = H5Sget_simple_extent_dims(space_.id(), sides.data(), nullptr);
    if (rank < 1 || element_bytes_ == 0) throw cannot("tell the shape of", name_);
    sides_.assign(sides.begin(), sides.begin() + rank);
    const haddr_t address = H5Dget_offset(dataset_.id());
    if (address == HADDR_UNDEF) return;
    extent_ = {address, H5Dget_storage_size(dataset_.id())};
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::optional<std::string> descr() const { return hdf5_descr_of(type_.id()); }
  [[nodiscard]] const std::vector<std::uint64_t>& sides() const { return sides_; }
  /// What elements of this shape take; all ones if that is more than a file can hold.
  [[nodiscard]] std::uint64_t bytes_of_shape() const {
    if (std::find(sides_.begin(), sides_.end(), 0U) != sides_.end()) return 0;
    std::uint64_t bytes = element_bytes_;
    for (const std::uint64_t side : sides_) {
      if (side > kMissing / bytes) return kMissing;
      bytes *= side;
    }
    return bytes;
  }
  /// As the library says; nothing for a dataset without bytes.
  [[nodiscard]] const ColumnExtent& extent() const { return extent_; }

  /// The bytes [offset, offset + length) of the file, as H5Dread gives them; `least_bytes` are read
  /// at once. Valid until the next call.
  Bytes view(std::uint64_t offset, std::uint64_t length, std::uint64_t least_bytes) {
    if (length == 0) return {};
    if (offset < extent_.offset || length > extent_.length ||
        offset - extent_.offset > extent_.length - length)
      throw Error(Code::damaged, "a place outside of the dataset '{}'", printable(name_));
    const std::uint64_t begin = offset - extent_.offset;
    if (begin < begin_ || begin + length > begin_ + buffer_.size())
      read(begin, std::max(length, least_bytes));
    return Bytes(buffer_).subspan(begin - begin_, length);
  }

 private:
  // In runs along one axis whose steps are small: what is read is contiguous, and bounded for
  // values of any size.
  void read(std::uint64_t begin, std::uint64_t bytes) {
    std::size_t axis = sides_.size() - 1;
    std::uint64_t step = element_bytes_;
    while (axis > 0 && sides_[axis] <= bytes / step) step *= sides_[axis--];
    begin_ = begin / step * step;
    buffer_.clear();
    const std::uint64_t end = std::min(extent_.length, begin + bytes);
    while (begin_ + buffer_.size() < end) {
      const std::uint64_t at = begin_ + buffer_.size();
      read_run(axis, at / step, (end - at - 1) / step + 1, step);
    }
  }

  // Appends at most so many steps along an axis, from the one of this number.
  void read_run(std::size_t axis, std::uint64_t number, std::uint64_t steps, std::uint64_t bytes) {
    std::vector<hsize_t> start(sides_.size(), 0), many(sides_.begin(), sides_.end());
    for (std::size_t i = axis + 1; i-- > 0; number /= sides_[i]) {
      start[i] = number % sides_[i];
      many[i] = i == axis ? std::min<hsize_t>(steps, sides_[i] - start[i]) : 1;
    }
    const Hdf5Handle memory(H5Screate_simple(static_cast<int>(many.size()), many.data(), nullptr),
                            H5Sclose);
    const std::size_t had = buffer_.size();
    buffer_.resize(had + many[axis] * bytes);
    const bool is_read = H5Sselect_hyperslab(space_.id(), H5S_SELECT_SET, start.data(), nullptr,
                                             many.data(), nullptr) >= 0 &&
                         H5Dread(dataset_.id(), type_.id(), memory.id(), space_.id(), H5P_DEFAULT,
                                 buffer_.data() + had) >= 0;
    if (!is_read) throw cannot("read the dataset", name_);
  }

  std::string name_;
  Hdf5Handle dataset_, type_, space_;
  std::uint64_t element_bytes_ = 0;
  std::vector<std::uint64_t> sides_;
  ColumnExtent extent_;
  std::uint64_t begin_ = 0;  // of the buffer, in the dataset
  std::vector<std::byte> buffer_;
};

// In the child.
class LibraryScanner {
 public:
  LibraryScanner(const ShardInput& input, const std::string& path, const RowSink& rows,
                 const FindingSink& findings)
      : input_(input),
        file_(input.files[0]),
        plan_(plan_columns(input.schema)),
        rows_(rows),
        findings_(findings),
        library_file_(path) {}

  void scan() {
    try {
      compare();
    } catch (const Error& error) {
      throw library_file_.reason_of(error);
    }
  }

 private:
  void compare() {
    if (!library_file_.is_valid()) {
      throw Error(Code::damaged, "the HDF5 library cannot open this file")
          .because(hdf5_failure_cause());
    }
    for (const Hdf5Column& column : plan_.columns)
      columns_.push_back(std::make_unique<LibraryColumn>(library_file_, column));
    const std::uint64_t samples = plan_.has_keys() ? count_rows() : input_.samples;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      check_shape(plan_.columns[i], *columns_[i], samples);
    if (is_lost_) return;
    if (plan_.rows.has_strides()) return compare_fixed_rows();
    ShardDirectory directory{.samples = samples, .extents = {}};
    for (const auto& column : columns_) directory.extents.push_back(column->extent());
    const ViewColumn view_column = [this](std::size_t number, std::uint64_t window) -> ViewBytes {
      LibraryColumn& column = *columns_[number];
      return [&column, window](std::uint64_t offset, std::uint64_t length) {
        return column.view(offset, length, window);
      };
    };
    scan_columns(input_, plan_, directory, view_column, rows_, findings_);
  }

  // The last column is the keys' offsets: one more than there are rows.
  [[nodiscard]] std::uint64_t count_rows() const {
    const std::uint64_t numbers = columns_.back()->sides()[0];
    return numbers > 0 ? numbers - 1 : 0;
  }

  void report(std::string message, const LibraryColumn& column, std::string found,
              std::string expected) {
    FindingDraft draft(file_, findings_);
    draft.begin(std::move(message)).field = column.name();
    draft.send(std::move(found), std::move(expected));
    is_lost_ = true;
  }

  void check_shape(const Hdf5Column& column, const LibraryColumn& found, std::uint64_t samples) {
    const std::string type = found.descr().value_or("a type that shale does not write");
    if (type != column.dtype.descr())
      report("the HDF5 library finds a different type", found, dtype_text(type),
             dtype_text(column.dtype));
    const ColumnExtent& extent = found.extent();
    const std::vector<std::uint64_t> sides =
        column.sides(samples, column.part_bytes_of(extent.length));
    if (found.sides() != sides)
      report("the HDF5 library finds a different shape", found, shape_text(found.sides()),
             shape_text(sides));
    const std::uint64_t bytes = found.bytes_of_shape();
    if (extent.length != bytes)
      report("the HDF5 library finds a different size", found,
             fmt::format("{} bytes", extent.length), fmt::to_string(bytes));
  }

  void compare_fixed_rows() {
    std::vector<std::byte> stored;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      LibraryColumn& column = *columns_[i];
      const ColumnExtent& extent = column.extent();
      const std::uint64_t base = i < input_.bases.size() ? input_.bases[i] : kMissing;
      if (extent.offset != base) {
        report("the HDF5 library finds the dataset elsewhere", column,
               fmt::format("byte {}", extent.offset), fmt::format("byte {}", base));
        continue;
      }
      for (std::uint64_t done = 0; done < extent.length; done += stored.size()) {
        stored.resize(std::min(kPieceBytes, extent.length - done));
        file_.read_exact(base + done, stored);
        const Bytes read = column.view(base + done, stored.size(), stored.size());
        const auto differs = std::mismatch(stored.begin(), stored.end(), read.begin()).first;
        if (differs == stored.end()) continue;
        report("the HDF5 library reads bytes that differ from the file's", column,
               fmt::format("a different byte {}",
                           base + done + static_cast<std::uint64_t>(differs - stored.begin())),
               "");
        break;
      }
    }
  }

  const ShardInput& input_;
  const InputFile& file_;
  Hdf5Plan plan_;
  const RowSink& rows_;
  const FindingSink& findings_;
  Hdf5TrackedFile library_file_;
  std::vector<std::unique_ptr<LibraryColumn>> columns_;
  bool is_lost_ = false;
};

}  // namespace

LibraryReading scan_hdf5_by_library(const ShardInput& input, const RowSink& rows,
                                    const FindingSink& findings, const std::function<void()>& ask) {
  unsigned major = 0, minor = 0, release = 0;
  {
    const auto lock = lock_hdf5();
    (void)H5get_libversion(&major, &minor, &release);
  }
  const LibraryScan scan{.library = fmt::format("HDF5 {}.{}.{}", major, minor, release),
                         .limits = child_limits_for(input.files[0].size()),
                         .hold = lock_hdf5,
                         .scan = [&](const std::string& path, const RowSink& rows_there,
                                     const FindingSink& findings_there) {
                           LibraryScanner(input, path, rows_there, findings_there).scan();
                         }};
  return scan_in_child(input, scan, rows, findings, ask);
}

}  // namespace shale
