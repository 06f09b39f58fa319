#include "formats/hdf5/foreign/hdf5_read_out.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/transpose.hpp"
#include "shale/io/write_fully.hpp"
#include "shale/trees/hdf5_blocks.hpp"

#include "formats/hdf5/foreign/hdf5_annotations.hpp"
#include "formats/hdf5/foreign/hdf5_filters.hpp"
#include "formats/hdf5/foreign/hdf5_references.hpp"
#include "formats/hdf5/foreign/hdf5_sequences.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_tracking_driver.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kReferenceBytes = Hdf5Sequences::kReferenceBytes, kHeapHeaderBytes = 32,
                        kHeapPadding = 8;
constexpr std::uint64_t kRowsAtOnce = 1024, kCacheSlots = 521;

class DatasetReader {
 public:
  DatasetReader(hid_t file, const Hdf5Target& target, std::uint64_t block_bytes,
                Hdf5Sequences& sequences, PlainWriter& writer)
      : target_(target),
        dataset_(*target.dataset),
        walk_(dataset_, block_bytes),
        sequences_(sequences),
        writer_(writer),
        item_bytes_(dataset_.sequence_item_bytes()),
        set_(open(file)) {
    const Hdf5Handle type(H5Dget_type(set_.id()), H5Tclose);
    element_type_ = element_type(type);
    memory_type_ = type_in_memory();
    file_space_ = Hdf5Handle(H5Dget_space(set_.id()), H5Sclose);
    if (!is_as_described()) throw hdf5_dataset_changed(dataset_.name);
    const Hdf5Handle layout(H5Dget_create_plist(set_.id()), H5Pclose);
    check_hdf5_filters(layout.id(), dataset_.name);
  }

  void copy_blocks() {
    std::vector<std::byte> values(walk_.largest_bytes()), turned;
    if (dataset_.axis != 0) turned.resize(values.size());
    Hdf5Dataset rows;  // as they are written
    rows.element_bytes = dataset_.element_bytes;
    rows.shape = dataset_.sides();
    for (; !walk_.is_done(); walk_.advance()) {
      Hdf5Block block = walk_.block();
      read(select(block), values.data());
      if (dataset_.axis != 0) turn(block, values, turned);
      Bytes left(dataset_.axis != 0 ? turned : values);
      block.origin = with_side_first(std::move(block.origin), dataset_.axis);
      block.sides = with_side_first(std::move(block.sides), dataset_.axis);
      for (Hdf5RunWalk runs(rows, block); !runs.is_done(); runs.advance()) {
        writer_.write(target_.address + runs.offset(), left.first(runs.run_bytes()));
        left = left.subspan(runs.run_bytes());
      }
    }
  }

  void copy_sequences(std::uint64_t most_bytes) {
    left_bytes_ = most_bytes_ = most_bytes;
    if (dataset_.storage == Hdf5Storage::referred) return copy_referred();
    if (!sequences_.can_read()) throw hdf5_dataset_changed(dataset_.name);
    std::vector<std::byte> references;
    for (std::uint64_t row = 0; row < dataset_.shape[0]; row += kRowsAtOnce) {
      const std::uint64_t rows = std::min(kRowsAtOnce, dataset_.shape[0] - row);
      references.resize(rows * kReferenceBytes);
      read(select({{row}, {rows}}), references.data());
      for (std::uint64_t i = 0; i < rows; ++i)
        copy_sequence(row + i, Bytes(references).subspan(i * kReferenceBytes, kReferenceBytes));
    }
  }

 private:
  void copy_sequence(std::uint64_t row, Bytes reference) {
    std::vector<std::byte> value;
    try {
      value = sequences_.at(reference, dataset_, left_bytes_);
    } catch (const Error& error) {
      if (error.code() == Code::limit) throw too_many_bytes();
      if (error.code() != Code::damaged) throw;
      throw Error(Code::damaged, "row {} of dataset '{}': {}", row, printable(dataset_.name),
                  error.message())
          .at(error.file(), error.offset());
    }
    copy_value(row, value.data(), value.size());
  }

  // Values that are datasets may be compressed, and several rows may refer to one.
  void copy_referred() {
    left_bytes_ = most_bytes_ = most_bytes_ * kMostReferredGrowth;
    const Hdf5ReferredValues values(set_.id(), dataset_);
    for (std::uint64_t row = 0; row < values.count(); ++row) {
      const std::vector<std::byte> value = values.at(row);
      copy_value(row, value.data(), value.size());
    }
  }

  // A chunk fits into the cache: of one that does not, the library reads each run of a block, down
  // to a single element, by itself.
  [[nodiscard]] Hdf5Handle open(hid_t file) const {
    const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    H5Pset_chunk_cache(access.id(), kCacheSlots, walk_.chunk_bytes(), 1.0);
    // Any other link might lead into another file.
    const std::string whole = dataset_.path();
    for (std::size_t slash = 0; slash != std::string::npos;) {
      slash = whole.find('/', slash + 1);
      if (!is_hdf5_hard_link(file, whole.substr(0, slash)))
        throw hdf5_dataset_changed(dataset_.name);
    }
    Hdf5Handle set(H5Dopen2(file, whole.c_str(), access.id()), H5Dclose);
    if (!set.is_valid()) throw failure("cannot be reopened");
    return set;
  }

  // The type of its elements as they are stored; of a member that of the member.
  [[nodiscard]] Hdf5Handle element_type(const Hdf5Handle& stored) const {
    const bool is_of_records =
        !dataset_.member.empty() && H5Tget_class(stored.id()) == H5T_COMPOUND;
    if (!is_of_records) return {H5Tcopy(stored.id()), H5Tclose};
    const int number = H5Tget_member_index(stored.id(), dataset_.member.c_str());
    if (number < 0) throw hdf5_dataset_changed(dataset_.name);
    return {H5Tget_member_type(stored.id(), static_cast<unsigned>(number)), H5Tclose};
  }

  // Little-endian; of a member alone; of variable length the references.
  [[nodiscard]] Hdf5Handle type_in_memory() const {
    const bool is_referred = dataset_.storage == Hdf5Storage::referred;
    Hdf5Handle element(dataset_.has_variable_length() && !is_referred
                           ? Hdf5Sequences::type_of_references()
                           : H5Tcopy(element_type_.id()),
                       H5Tclose);
    const bool is_turned = dataset_.descr.starts_with('>') && !dataset_.has_variable_length();
    if (is_turned && H5Tset_order(element.id(), H5T_ORDER_LE) < 0)
      throw failure("has elements whose byte order cannot be converted");
    if (dataset_.member.empty() || is_referred) return element;
    Hdf5Handle record(H5Tcreate(H5T_COMPOUND, H5Tget_size(element.id())), H5Tclose);
    if (H5Tinsert(record.id(), dataset_.member.c_str(), 0, element.id()) < 0)
      throw failure("has a member that cannot be read alone");
    return record;
  }

  // The elements of a block with the side of the samples first.
  void turn(const Hdf5Block& block, Bytes from, std::span<std::byte> into) const {
    const auto product = [&](std::size_t begin, std::size_t end) {
      std::uint64_t all = 1;
      for (std::size_t i = begin; i < end; ++i) all *= block.sides[i];
      return all;
    };
    const std::uint64_t lines = product(0, dataset_.axis), length = block.sides[dataset_.axis];
    const std::uint64_t item =
        product(dataset_.axis + 1, block.sides.size()) * dataset_.element_bytes;
    transpose({.lines = lines,
               .length = length,
               .item_bytes = item,
               .from_line = length * item,
               .into_line = item,
               .into_item = lines * item},
              from.first(lines * length * item), into.first(lines * length * item));
  }

  [[nodiscard]] bool is_as_described() const {
    if (dataset_.storage == Hdf5Storage::referred) {
      return H5Tequal(element_type_.id(), H5T_STD_REF_OBJ) > 0 && hdf5_lies_here(set_.id()) &&
             H5Sget_simple_extent_npoints(file_space_.id()) ==
                 static_cast<hssize_t>(dataset_.shape[0]);
    }
    std::array<hsize_t, H5S_MAX_RANK> sides{};
    const int rank = H5Sget_simple_extent_dims(file_space_.id(), sides.data(), nullptr);
    const bool has_shape = rank >= 0 && std::equal(sides.begin(), sides.begin() + rank,
                                                   dataset_.shape.begin(), dataset_.shape.end());
    const H5T_class_t type = H5Tget_class(element_type_.id());
    const bool is_text = type == H5T_STRING && H5Tis_variable_str(element_type_.id()) > 0;
    const bool has_type = dataset_.type == Hdf5Type::vlen_text ? is_text
                          : dataset_.has_variable_length()
                              ? type == H5T_VLEN
                              : !is_text && type != H5T_VLEN &&
                                    H5Tget_size(memory_type_.id()) == dataset_.element_bytes;
    return has_shape && hdf5_lies_here(set_.id()) && has_type;
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

  void copy_value(std::uint64_t row, const void* begin, std::uint64_t length) {
    // The global heap is not compressed: what the file does not hold was never written.
    if (length > left_bytes_ || length > 0xffffffffU) throw too_many_bytes();
    left_bytes_ -= length;
    if (length == 0) return;  // zeros: the file has them there
    const Bytes value(static_cast<const std::byte*>(begin), length);
    writer_.write(target_.address + row * kReferenceBytes,
                  writer_.append_value(value, item_bytes_));
  }

  [[nodiscard]] Error too_many_bytes() const {
    return Error(Code::damaged, "the values of '{}' have more bytes than the file: {}",
                 printable(dataset_.name), most_bytes_);
  }

  [[nodiscard]] Error failure(std::string_view what) const {
    const std::string cause = hdf5_failure_cause();
    const bool is_memory = cause.find("memory allocation failed") != std::string::npos;
    Error error(is_memory ? Code::limit : Code::damaged, "dataset '{}' {}",
                printable(dataset_.name), what);
    error.because(cause.empty() ? "no reason given" : cause);
    return error;
  }

  const Hdf5Target& target_;
  const Hdf5Dataset& dataset_;
  Hdf5BlockWalk walk_;
  Hdf5Sequences& sequences_;
  PlainWriter& writer_;
  std::uint64_t item_bytes_, left_bytes_ = 0, most_bytes_ = 0;  // of values of any length
  Hdf5Handle set_;
  Hdf5Handle element_type_{-1, H5Tclose}, memory_type_{-1, H5Tclose}, file_space_{-1, H5Sclose};
};

}  // namespace

void PlainWriter::write(std::uint64_t offset, Bytes bytes) {
  constexpr std::uint64_t kAtOnce = 1 << 20;
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min<std::uint64_t>(bytes.size(), kAtOnce - unsaid_));
    write_fully(file_.descriptor(), piece, offset, file_.path());
    offset += piece.size();
    bytes = bytes.subspan(piece.size());
    unsaid_ += piece.size();
    if (unsaid_ == kAtOnce) say();
  }
}

std::vector<std::byte> PlainWriter::append_value(Bytes value, std::uint64_t item_bytes) {
  ByteWriter reference, header;
  reference.write(static_cast<std::uint32_t>(value.size() / item_bytes));
  reference.write(end_);
  reference.write(std::uint32_t{1});
  const std::uint64_t padded = (value.size() + kHeapPadding - 1) / kHeapPadding * kHeapPadding;
  header.write_text(std::string_view("GCOL\1\0\0\0", 8));
  header.write(kHeapHeaderBytes + padded);
  header.write_text(std::string_view("\1\0\1\0\0\0\0\0", 8));
  header.write(std::uint64_t{value.size()});
  const std::uint64_t begin = end_;
  end_ += kHeapHeaderBytes + padded;
  write(begin, header.bytes());
  write(begin + kHeapHeaderBytes, value);
  return reference.take();
}

void read_out_hdf5(const InputFile& from, std::span<const Hdf5Target> targets,
                   std::uint64_t block_bytes, std::uint64_t most_sequence_bytes,
                   PlainWriter writer) {
  const Hdf5TrackedFile file("/proc/self/fd/" + std::to_string(from.descriptor()));
  bring_hdf5_filters();
  try {
    if (!file.is_valid()) {
      throw Error(Code::damaged, "the HDF5 library cannot reopen this file")
          .because(hdf5_failure_cause());
    }
    Hdf5Sequences sequences(from, file.id());
    for (const Hdf5Target& target : targets) {
      DatasetReader reader(file.id(), target, block_bytes, sequences, writer);
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
