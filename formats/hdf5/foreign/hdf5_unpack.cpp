#include "formats/hdf5/foreign/hdf5_unpack.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/write_fully.hpp"

#include "formats/hdf5/foreign/hdf5_blocks.hpp"
#include "formats/hdf5/foreign/hdf5_description.hpp"
#include "formats/hdf5/foreign/hdf5_filters.hpp"
#include "formats/hdf5/foreign/hdf5_foreign_columns.hpp"
#include "formats/hdf5/foreign/hdf5_probe.hpp"
#include "formats/hdf5/foreign/hdf5_samples.hpp"
#include "formats/hdf5/foreign/hdf5_steps.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_metadata.hpp"
#include "formats/hdf5/hdf5_tracking_driver.hpp"
#include "formats/hdf5/hdf5_types.hpp"

//  The plain file:
//  +0    superblock, root group, an object header per dataset (hdf5_metadata.cpp)
//  then  the datasets, one after the other, each at a multiple of 64; of those of variable length
//        the references: u32 length, u64 address, u32 1
//  then  their values, each in a collection of the global heap that holds nothing else:
//        +0   "GCOL", u8 1, 3 zeros, u64 bytes of the collection
//        +16  u16 1, u16 1, 4 zeros, u64 length
//        +32  the value, padded to a multiple of 8
//  Such a collection is smaller than the library makes them. Nobody but shale reads this file, and
//  it finds values by Hdf5Heap, not through the library.

namespace shale {
namespace {

constexpr std::uint64_t kAlignment = 64, kMostFileBytes = ~std::uint64_t{0} >> 1;
constexpr std::size_t kMostNameBytes = 4096;
constexpr std::uint64_t kNumbersAtOnce = 1 << 20;  // bytes
constexpr std::uint64_t kShareOfMemory = 4, kSlowestBytesPerSecond = 10'000'000;

// A dataset, and where its rows go in another file.
struct Hdf5Target {
  const Hdf5Dataset* dataset;
  std::uint64_t address, bytes;
};

constexpr std::uint64_t kReferenceBytes = 16, kHeapHeaderBytes = 32, kHeapPadding = 8;
constexpr std::uint64_t kRowsAtOnce = 16, kCacheSlots = 521;

class PlainWriter {
 public:
  // Values of any length are appended at `end`.
  PlainWriter(const NamelessFile& file, std::uint64_t end,
              std::function<void(std::uint64_t, std::uint64_t)> wrote)
      : file_(file), end_(end), wrote_(std::move(wrote)) {}

  void write(std::uint64_t offset, Bytes bytes) {
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
  void say() { wrote_(std::exchange(unsaid_, 0), end_); }

  // A value in a collection of its own. Returns the reference to it.
  std::vector<std::byte> append_value(Bytes value, std::uint64_t item_bytes) {
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

 private:
  const NamelessFile& file_;
  std::uint64_t end_;
  std::function<void(std::uint64_t, std::uint64_t)> wrote_;
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
        item_bytes_(dataset_.sequence_item_bytes()),
        set_(open(file)) {
    const Hdf5Handle type(H5Dget_type(set_.id()), H5Tclose);
    memory_type_ = Hdf5Handle(H5Tcopy(type.id()), H5Tclose);
    if (dataset_.descr.starts_with('>') && H5Tset_order(memory_type_.id(), H5T_ORDER_LE) < 0)
      throw failure("has elements whose byte order cannot be converted");
    file_space_ = Hdf5Handle(H5Dget_space(set_.id()), H5Sclose);
    if (!is_as_described()) throw hdf5_dataset_changed(dataset_.name);
    const Hdf5Handle layout(H5Dget_create_plist(set_.id()), H5Pclose);
    check_hdf5_filters(layout.id(), dataset_.name);
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
        for (std::uint64_t i = 0; i < rows; ++i)
          copy_value(row + i, values[i].p, values[i].len * item_bytes_);
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
      if (!is_there) throw hdf5_dataset_changed(dataset_.name);
    }
    Hdf5Handle set(H5Dopen2(file, dataset_.name.c_str(), access.id()), H5Dclose);
    if (!set.is_valid()) throw failure("cannot be reopened");
    return set;
  }

  [[nodiscard]] bool is_as_described() const {
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
                          : dataset_.has_variable_length()
                              ? type == H5T_VLEN
                              : !is_text && type != H5T_VLEN &&
                                    H5Tget_size(memory_type_.id()) == dataset_.element_bytes;
    return has_shape && is_here && has_type;
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
    writer_.write(target_.address + row * kReferenceBytes,
                  writer_.append_value(value, item_bytes_));
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
  PlainWriter& writer_;
  std::uint64_t item_bytes_, left_bytes_ = 0, most_bytes_ = 0;  // of values of any length
  Hdf5Handle set_;
  Hdf5Handle memory_type_{-1, H5Tclose}, file_space_{-1, H5Sclose};
};

// Reads datasets through the library, filters and all, and writes their rows where they go: numbers
// little-endian.
// Only for a child process that has nothing to lose (hdf5_probe.hpp). Memory: four times
// `block_bytes`, and of values of any length those of 16 rows.
// Errors: Code::damaged with the library's innermost message as cause, and for values that together
// have more than `most_sequence_bytes`; Code::unsupported for a filter that this library does not
// have; Code::mismatch if the file has changed since it was described; Code::limit; Code::io.
void read_out_hdf5(const std::string& path, std::span<const Hdf5Target> targets,
                   std::uint64_t block_bytes, std::uint64_t most_sequence_bytes,
                   PlainWriter writer) {
  const Hdf5TrackedFile file(path);
  bring_hdf5_filters();
  try {
    if (!file.is_valid()) {
      throw Error(Code::damaged, "the HDF5 library cannot reopen this file")
          .because(hdf5_failure_cause());
    }
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

// Whether reading it through the library gives what cannot be located in the file.
bool has_to_be_read(const Hdf5Dataset& dataset) {
  return dataset.storage == Hdf5Storage::chunked || dataset.storage == Hdf5Storage::compact ||
         (dataset.storage == Hdf5Storage::absent && dataset.shape[0] > 0) ||
         dataset.has_to_be_turned();
}

std::vector<std::byte> type_of(const Hdf5Dataset& dataset) {
  std::string descr = dataset.descr;
  if (descr.starts_with('>')) descr[0] = '<';  // it is turned when it is read
  if (dataset.type == Hdf5Type::vlen_numbers)
    return vlen_type_bytes(datatype_bytes(DType::parse(descr)));
  if (dataset.has_variable_length()) return vlen_type_bytes(dataset.type == Hdf5Type::vlen_text);
  if (dataset.type == Hdf5Type::fixed_text) return fixed_text_type_bytes(dataset.element_bytes);
  const bool is_time = descr[1] == 'M' || descr[1] == 'm';
  return is_time ? time_type_bytes(descr) : datatype_bytes(DType::parse(descr));
}

// A dataset of the plain file.
struct Column {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> type;
  std::uint64_t address = 0, bytes = 0;
};

class PlainFile {
 public:
  explicit PlainFile(const NamelessFile& file)
      : path_(file.path()), descriptor_(file.descriptor()) {}

  void write(std::uint64_t offset, Bytes bytes) const {
    write_fully(descriptor_, bytes, offset, path_);
  }
  void set_size(std::uint64_t bytes) const {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0) return;
    const int error = errno;
    throw Error(Code::io, "cannot be extended to {} bytes", bytes).at(path_).because_errno(error);
  }
  [[nodiscard]] std::uint64_t free_bytes() const {
    return free_space(descriptor_).value_or(kMostFileBytes);
  }

 private:
  std::string path_;
  int descriptor_;
};

class Unpacking {
 public:
  // Datasets at the root, each as it is.
  Unpacking(const UnpackRequest& request, std::span<const Hdf5Dataset* const> datasets)
      : Unpacking(request) {
    for (const Hdf5Dataset* dataset : datasets) {
      columns_.push_back({.name = dataset->name,
                          .shape = dataset->shape,
                          .type = type_of(*dataset),
                          .address = 0,
                          .bytes = bytes_of_all(*dataset, dataset->shape[0])});
      targets_.push_back({dataset, 0, columns_.back().bytes});
    }
    place_columns();
    for (std::size_t i = 0; i < targets_.size(); ++i) targets_[i].address = columns_[i].address;
  }

  // A column per field, of the rows of all demonstrations, one after the other.
  Unpacking(const UnpackRequest& request, const Hdf5Steps& steps) : Unpacking(request) {
    steps_ = &steps;
    for (std::size_t i = 0; i < steps.schema.fields.size(); ++i) {
      const Hdf5Dataset* dataset = steps.demos.front().datasets[i];
      Column column{.name = steps.schema.fields[i].name,
                    .shape = {steps.rows},
                    .type = datatype_bytes(DType::parse("<i8")),
                    .address = 0,
                    .bytes = steps.rows * sizeof(std::int64_t)};
      if (dataset != nullptr) {
        column.shape.insert(column.shape.end(), dataset->shape.begin() + 1, dataset->shape.end());
        column.type = type_of(*dataset);
        column.bytes = bytes_of_all(*dataset, steps.rows);
      }
      columns_.push_back(std::move(column));
    }
    place_columns();
    for (const Hdf5Steps::Demo& demo : steps.demos) {
      for (std::size_t i = 0; i < demo.datasets.size(); ++i) {
        if (demo.datasets[i] == nullptr) continue;
        const std::uint64_t row = demo.datasets[i]->row_bytes();
        targets_.push_back(
            {demo.datasets[i], columns_[i].address + demo.first * row, demo.rows * row});
      }
    }
  }

  void run() {
    // What no memory, and no disk, is enough for is refused before anything is read.
    for (const Hdf5Target& target : targets_) {
      if (target.bytes > 0 && !target.dataset->has_variable_length())
        (void)Hdf5BlockWalk(*target.dataset, block_bytes_);
    }
    if (const std::uint64_t free = file_.free_bytes(); end_ > free)
      throw no_room_to_unpack(request_.file.path(), end_, free);
    all_bytes_ = end_;
    file_.set_size(end_);
    if (steps_ != nullptr) write_numbers();
    report();
    std::erase_if(targets_, [](const Hdf5Target& target) { return target.bytes == 0; });
    ChildLimits limits = child_limits_for(request_.file.size());
    limits.cpu_seconds += (request_.file.size() + all_bytes_) / kSlowestBytesPerSecond;
    limits.wall_seconds += 10 * limits.cpu_seconds;
    limits.memory_bytes += request_.memory_bytes;
    limits.written_bytes = end_;
    for (const Hdf5Target& target : targets_) {
      constexpr std::uint64_t kHeapBytesPerReference = 3;  // what frames a value: 39 bytes for 16
      if (target.dataset->has_variable_length())
        limits.written_bytes += request_.file.size() + kHeapBytesPerReference * target.bytes;
    }
    run_hdf5_child(
        request_.file, limits, [&](const SendMessage& send) { read_out(send); },
        [&](Bytes message) {
          ByteReader in(message, "what the HDF5 library's process says");
          done_bytes_ += in.read_u64();
          end_ = in.read_u64();
          report();
        },
        [&] { report(); }, &request_.into);
    file_.set_size(end_);
    file_.write(0, head(end_));
  }

 private:
  explicit Unpacking(const UnpackRequest& request)
      : request_(request),
        block_bytes_(request.memory_bytes / kShareOfMemory),
        file_(request.into) {}

  void place_columns() {
    end_ = head(0).size();
    for (Column& column : columns_) {
      column.address = (end_ + kAlignment - 1) / kAlignment * kAlignment;
      if (column.bytes > kMostFileBytes - column.address)
        throw Error(Code::limit, "the datasets together claim more than 2^63 bytes");
      end_ = column.address + column.bytes;
    }
  }

  // The fields of steps that no dataset has.
  void write_numbers() const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (steps_->demos.front().datasets[i] != nullptr) continue;
      const bool is_demo = columns_[i].name == kDemoField;
      std::uint64_t at = columns_[i].address;
      ByteWriter out;
      const auto flush = [&] {
        file_.write(at, out.bytes());
        at += out.size();
        out.clear();
      };
      for (const Hdf5Steps::Demo& demo : steps_->demos) {
        for (std::uint64_t step = 0; step < demo.rows; ++step) {
          out.write(is_demo ? static_cast<std::uint64_t>(demo.number) : step);
          if (out.size() >= kNumbersAtOnce) flush();
        }
      }
      flush();
    }
  }

  [[nodiscard]] static std::uint64_t bytes_of_all(const Hdf5Dataset& dataset, std::uint64_t rows) {
    const std::uint64_t row = dataset.row_bytes();
    if (row != 0 && rows > kMostFileBytes / row) {
      throw Error(Code::limit, "dataset '{}' claims {} rows of {} bytes, which is more than 2^63",
                  printable(dataset.name), rows, row);
    }
    return row * rows;
  }

  [[nodiscard]] std::vector<std::byte> head(std::uint64_t end_of_file) const {
    std::vector<NamedHeader> headers;
    for (const Column& column : columns_) {
      headers.push_back({column.name, dataset_header_bytes(column.shape, column.type,
                                                           {column.address, column.bytes})});
    }
    return file_head_bytes(headers, end_of_file);
  }

  // In the child. Values of any length are not more than the file, which holds them as they are.
  void read_out(const SendMessage& send) const {
    // With the bytes since it was said last, and the end of the file: about once a MiB.
    const auto say = [&](std::uint64_t bytes, std::uint64_t end) {
      ByteWriter said;
      said.write(bytes);
      said.write(end);
      send(said.bytes());
    };
    read_out_hdf5("/proc/self/fd/" + std::to_string(request_.file.descriptor()), targets_,
                  block_bytes_, request_.file.size(), PlainWriter(request_.into, end_, say));
  }

  void report() const {
    if (request_.progress) request_.progress(std::min(done_bytes_, all_bytes_), all_bytes_);
  }

  const UnpackRequest& request_;
  std::uint64_t block_bytes_;
  PlainFile file_;
  const Hdf5Steps* steps_ = nullptr;  // null: the datasets at the root are unpacked
  std::vector<Column> columns_;
  std::vector<Hdf5Target> targets_;
  std::uint64_t end_ = 0, all_bytes_ = 0, done_bytes_ = 0;
};

void refuse_what_cannot_be_read(const Hdf5Description& description, const Hdf5Dataset& dataset) {
  const bool is_elsewhere =
      dataset.storage == Hdf5Storage::external || dataset.storage == Hdf5Storage::composed;
  if (is_elsewhere) throw cannot_locate_error(dataset, hdf5_storage_fault(dataset));
  check_hdf5_elements(description, dataset);
  if (dataset.element_bytes > 0xffffffffU || dataset.name.size() > kMostNameBytes) {
    throw Error(Code::limit, "dataset '{}' has elements of {} bytes and a name of {}",
                printable(dataset.name.substr(0, 64)), dataset.element_bytes, dataset.name.size());
  }
}

// Nullopt: all of it can be located.
std::optional<UnpackReport> unpack_steps(const UnpackRequest& request,
                                         Hdf5Description description) {
  const Hdf5Steps steps = find_hdf5_steps(std::move(description), request.file);
  bool is_packed = false;
  for (const Hdf5Steps::Demo& demo : steps.demos) {
    for (const Hdf5Dataset* dataset : demo.datasets) {
      if (dataset == nullptr) continue;
      refuse_what_cannot_be_read(steps.description, *dataset);
      is_packed = is_packed || has_to_be_read(*dataset);
    }
  }
  if (!is_packed) return std::nullopt;
  Unpacking(request, steps).run();
  return steps.left;
}

// Whether a dataset is what somebody calls by that name, or is needed to read it: offsets, keys.
bool belongs_to(const std::string& name, const std::vector<std::string>& fields) {
  if (name == "key" || name == "keys") return true;
  return std::ranges::any_of(fields, [&](const std::string& field) {
    return name == field || name == field + "_offset" || name == field + "_offsets" ||
           name == field + "_first" || (field == "data" && name == "offsets");
  });
}

// With fields only those are copied, wherever they lie: what is wrong with the others is ignored.
std::optional<UnpackReport> unpack_root(const UnpackRequest& request,
                                        const Hdf5Description& description) {
  const std::vector<std::string>& fields = request.fields;
  std::vector<const Hdf5Dataset*> datasets;
  UnpackReport report = left_out_of(description);
  bool is_packed = false, is_named = false;
  for (const Hdf5Dataset& dataset : description.datasets) {
    if (!is_taken(description, dataset)) continue;
    if (!fields.empty() && !belongs_to(dataset.name, fields)) {
      report.left_out.add({.kind = "dataset", .name = dataset.name, .reason = "not_asked_for"});
      continue;
    }
    datasets.push_back(&dataset);
    is_packed = is_packed || has_to_be_read(dataset);
    is_named = is_named || std::ranges::find(fields, dataset.name) != fields.end();
  }
  if (!(fields.empty() ? is_packed : is_named)) return std::nullopt;
  for (const Hdf5Dataset* dataset : datasets) refuse_what_cannot_be_read(description, *dataset);
  check_plain_rows(datasets);
  Unpacking(request, datasets).run();
  return report;
}

}  // namespace

std::optional<UnpackReport> unpack_hdf5_file(const UnpackRequest& request) {
  Hdf5Description description = probe_hdf5_file(request.file, [&](auto, auto) {
    if (request.progress) request.progress(0, 0);
  });
  try {
    if (may_have_hdf5_steps(request.parsing.dialect) && has_hdf5_steps(description))
      return unpack_steps(request, std::move(description));
    if (const auto place = hdf5_samples_in(description, request.parsing.dialect))
      return unpack_hdf5_samples(request, *place);
    return unpack_root(request, description);
  } catch (Error& error) {
    error.at(request.file.path());
    throw;
  }
}

}  // namespace shale
