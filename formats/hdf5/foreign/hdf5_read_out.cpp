#include "formats/hdf5/foreign/hdf5_read_out.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
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
#include "formats/hdf5/foreign/hdf5_whole_chunks.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_library_types.hpp"
#include "formats/hdf5/hdf5_tracking_driver.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kReferenceBytes = Hdf5Sequences::kReferenceBytes, kHeapHeaderBytes = 32,
                        kHeapPadding = 8;
constexpr std::uint64_t kRowsAtOnce = 1024, kCacheSlots = 521;

class DatasetReader {
 public:
  // `lose`: null, or what is told of rows that cannot be read.
  using Lose = std::function<void(std::uint64_t first, std::uint64_t rows, std::string why)>;
  DatasetReader(const InputFile& from, Hdf5TrackedFile& file, const Hdf5Target& target,
                std::uint64_t block_bytes, Hdf5Sequences& sequences, PlainWriter& writer, Lose lose)
      : file_(file),
        target_(target),
        dataset_(*target.dataset),
        walk_(dataset_, block_bytes),
        sequences_(sequences),
        writer_(writer),
        lose_(std::move(lose)),
        item_bytes_(dataset_.sequence_item_bytes()),
        set_(open(file.id())) {
    const Hdf5Handle type(H5Dget_type(set_.id()), H5Tclose);
    element_type_ = element_type(type);
    memory_type_ = type_in_memory();
    file_space_ = Hdf5Handle(H5Dget_space(set_.id()), H5Sclose);
    if (!is_as_described()) throw hdf5_dataset_changed(dataset_.name);
    const Hdf5Handle layout(H5Dget_create_plist(set_.id()), H5Pclose);
    check_hdf5_filters(layout.id(), dataset_.name);
    if (!has_whole_hdf5_header(from, sequences.base_address(), set_.id()))
      throw failure("has a damaged header");
    if (lose_)
      whole_.emplace(file, set_.id(), dataset_);
    else
      check_hdf5_chunk_index(file, set_.id(), dataset_);
  }

  void copy_blocks() {
    values_.resize(walk_.largest_bytes());
    if (dataset_.axis != 0) turned_.resize(values_.size());
    for (; !walk_.is_done(); walk_.advance()) copy_block(walk_.block());
  }

  void copy_sequences(std::uint64_t most_bytes) {
    left_bytes_ = most_bytes_ = most_bytes;
    if (dataset_.storage == Hdf5Storage::referred) return copy_referred();
    if (!sequences_.can_read()) throw hdf5_dataset_changed(dataset_.name);
    const std::uint64_t all = dataset_.shape[0], unit = std::min(rows_of_chunk(), all);
    const std::uint64_t at_once =
        std::max(unit, kRowsAtOnce / std::max<std::uint64_t>(unit, 1) * unit);
    values_.resize(std::min(at_once, all) * kReferenceBytes);
    for (std::uint64_t row = 0; row < all; row += at_once)
      copy_references(row, std::min(at_once, all - row));
    lose_shared_values();
  }

 private:
  void copy_block(Hdf5Block block) {
    const std::uint64_t first = block.origin[dataset_.axis], rows = block.sides[dataset_.axis];
    if (!may_read(first, rows, [&] { read(select(block), values_.data()); })) {
      return in_halves(first, rows, [&](std::uint64_t begin, std::uint64_t count) {
        block.origin[dataset_.axis] = begin;
        block.sides[dataset_.axis] = count;
        copy_block(block);
      });
    }
    if (dataset_.axis != 0) turn(block, values_, turned_);
    Bytes left(dataset_.axis != 0 ? turned_ : values_);
    block.origin = with_side_first(std::move(block.origin), dataset_.axis);
    block.sides = with_side_first(std::move(block.sides), dataset_.axis);
    Hdf5Dataset written;  // as its rows are written
    written.element_bytes = dataset_.element_bytes;
    written.shape = dataset_.sides();
    for (Hdf5RunWalk runs(written, block); !runs.is_done(); runs.advance()) {
      writer_.write(target_.address + runs.offset(), left.first(runs.run_bytes()));
      left = left.subspan(runs.run_bytes());
    }
  }

  void copy_references(std::uint64_t first, std::uint64_t rows) {
    if (!may_read(first, rows, [&] { read(select({{first}, {rows}}), values_.data()); })) {
      return in_halves(first, rows, [&](std::uint64_t begin, std::uint64_t count) {
        copy_references(begin, count);
      });
    }
    for (std::uint64_t i = 0; i < rows; ++i) {
      const Bytes reference = Bytes(values_).subspan(i * kReferenceBytes, kReferenceBytes);
      (void)may_read(first + i, 1, [&] { copy_sequence(first + i, reference); });
    }
  }

  // True: it is read. False, of a file that may be damaged: it is not, and what is of one chunk is
  // lost.
  [[nodiscard]] bool may_read(std::uint64_t first, std::uint64_t rows,
                              const std::function<void()>& get) {
    if (!lose_) {
      get();
      return true;
    }
    std::string why;
    try {
      if (whole_->has_rows(first, rows)) {
        get();
        return true;
      }
      why = fmt::format("dataset '{}': {}", printable(dataset_.name),
                        whole_->fault().empty() ? kNotInIndex : whole_->fault());
    } catch (const Error& error) {
      if (error.code() != Code::damaged || file_.reason_of(error).code() == Code::io) throw;
      why = error.message() + (error.cause().empty() ? "" : ": " + error.cause());
    }
    if (rows <= rows_of_chunk()) lose_(first, rows, std::move(why));
    return false;
  }

  [[nodiscard]] std::uint64_t rows_of_chunk() const {
    return dataset_.storage == Hdf5Storage::chunked ? dataset_.chunk[dataset_.axis] : 1;
  }

  // Rows that cannot be read at once, unless they have been lost: blocks begin with a chunk.
  void in_halves(std::uint64_t first, std::uint64_t rows,
                 const std::function<void(std::uint64_t first, std::uint64_t rows)>& each) {
    const std::uint64_t unit = rows_of_chunk();
    if (rows <= unit) return;
    const std::uint64_t half = (rows - 1) / unit / 2 * unit + unit;
    each(first, half);
    each(first + half, rows - half);
  }

  // Each value has an object of its own: of two rows that refer to one, one is damaged.
  void lose_shared_values() {
    std::ranges::sort(used_);
    for (std::size_t i = 1; i < used_.size(); ++i) {
      const auto& [address, object, row] = used_[i];
      const auto& [other_address, other_object, other_row] = used_[i - 1];
      if (address != other_address || object != other_object) continue;
      for (const std::uint64_t lost : {row, other_row}) {
        lose_(lost, 1,
              fmt::format("dataset '{}': rows {} and {} refer to one value",
                          printable(dataset_.name), other_row, row));
      }
    }
  }

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
    if (lose_ && !value.empty()) {
      ByteReader in(reference, "a reference");
      in.skip(sizeof(std::uint32_t));
      const std::uint64_t address = in.read_u64();
      used_.emplace_back(address, in.read_u32(), row);
    }
  }

  // Values that are datasets may be compressed, and several rows may refer to one.
  void copy_referred() {
    left_bytes_ = most_bytes_ = most_bytes_ * kMostReferredGrowth;
    const Hdf5ReferredValues values(set_.id(), dataset_);
    for (std::uint64_t row = 0; row < values.count(); ++row) {
      (void)may_read(row, 1, [&] {
        const std::vector<std::byte> value = values.at(row);
        copy_value(row, value.data(), value.size());
      });
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
    const bool is_turned = dataset_.descr.starts_with('>') && !dataset_.has_variable_length();
    Hdf5Handle element(dataset_.has_variable_length() && !is_referred
                           ? Hdf5Sequences::type_of_references()
                       : is_turned ? little_endian_hdf5_type(element_type_.id())
                                   : H5Tcopy(element_type_.id()),
                       H5Tclose);
    if (!element.is_valid()) throw failure("has elements whose byte order cannot be converted");
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

  Hdf5TrackedFile& file_;
  const Hdf5Target& target_;
  const Hdf5Dataset& dataset_;
  Hdf5BlockWalk walk_;
  Hdf5Sequences& sequences_;
  PlainWriter& writer_;
  Lose lose_;
  std::optional<Hdf5WholeChunks> whole_;    // of a file that may be damaged
  std::vector<std::byte> values_, turned_;  // of a block
  std::vector<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>> used_;  // objects, and rows
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

namespace {

void read_out(Hdf5TrackedFile& file, Hdf5Sequences& sequences, const Hdf5ReadOut& what,
              std::uint64_t number, PlainWriter& writer) {
  const Hdf5Target& target = what.targets[number];
  const auto lose = [&](std::uint64_t first, std::uint64_t rows, std::string why) {
    what.lose({.target = number, .first = first, .rows = rows, .why = std::move(why)});
  };
  try {
    DatasetReader reader(what.from, file, target, what.block_bytes, sequences, writer,
                         what.lose ? DatasetReader::Lose(lose) : nullptr);
    if (target.dataset->has_variable_length()) {
      reader.copy_sequences(what.most_sequence_bytes);
    } else {
      reader.copy_blocks();
    }
  } catch (const Error& error) {
    const bool is_damage = error.code() == Code::damaged || error.code() == Code::mismatch;
    if (!what.lose || !is_damage || file.reason_of(error).code() == Code::io) throw;
    lose(0, target.dataset->sides()[0],
         error.message() + (error.cause().empty() ? "" : ": " + error.cause()));
  }
}

}  // namespace

void read_out_hdf5(const Hdf5ReadOut& what, PlainWriter writer) {
  Hdf5TrackedFile file("/proc/self/fd/" + std::to_string(what.from.descriptor()),
                       what.lose != nullptr);
  bring_hdf5_filters();
  try {
    if (!file.is_valid()) {
      throw Error(Code::damaged, "the HDF5 library cannot reopen this file")
          .because(hdf5_failure_cause());
    }
    Hdf5Sequences sequences(what.from, file.id(), what.lose != nullptr);
    for (std::uint64_t i = 0; i < what.targets.size(); ++i)
      read_out(file, sequences, what, i, writer);
    writer.say();
  } catch (const Error& error) {
    throw file.reason_of(error);
  }
}

}  // namespace shale
