#include "formats/hdf5/foreign/hdf5_unpack.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/columns/own_records.hpp"
#include "shale/data/schema_text.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/write_fully.hpp"
#include "shale/trees/hdf5_blocks.hpp"
#include "shale/trees/hdf5_description.hpp"
#include "shale/trees/hdf5_foreign_columns.hpp"
#include "shale/trees/hdf5_metadata.hpp"
#include "shale/trees/hdf5_samples.hpp"
#include "shale/trees/hdf5_steps.hpp"
#include "shale/trees/hdf5_tables.hpp"
#include "shale/wire/hdf5_types.hpp"

#include "formats/hdf5/foreign/hdf5_probe.hpp"
#include "formats/hdf5/foreign/hdf5_read_out.hpp"
#include "formats/hdf5/foreign/hdf5_references.hpp"
#include "formats/hdf5/foreign/hdf5_sample_walk.hpp"
#include "formats/hdf5/hdf5_columns.hpp"
#include "formats/hdf5/hdf5_library.hpp"

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

// Whether reading it through the library gives what cannot be located in the file.
bool has_to_be_read(const Hdf5Dataset& dataset) {
  return dataset.storage == Hdf5Storage::chunked || dataset.storage == Hdf5Storage::compact ||
         dataset.storage == Hdf5Storage::referred ||
         (dataset.storage == Hdf5Storage::absent && dataset.shape[0] > 0) ||
         dataset.has_to_be_turned() || !dataset.member.empty() || dataset.axis != 0;
}

std::vector<std::byte> type_of(const Hdf5Dataset& dataset) {
  std::string descr = dataset.descr;
  if (descr.starts_with('>')) descr[0] = '<';  // it is turned when it is read
  if (dataset.type == Hdf5Type::vlen_numbers)
    return vlen_type_bytes(datatype_bytes(DType::parse(descr)));
  if (dataset.has_variable_length()) return vlen_type_bytes(dataset.type == Hdf5Type::vlen_text);
  if (dataset.type == Hdf5Type::fixed_text)
    return fixed_text_type_bytes(DType::parse(dataset.descr).item_bytes());
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

void set_size(const NamelessFile& file, std::uint64_t bytes) {
  if (::ftruncate(file.descriptor(), static_cast<off_t>(bytes)) == 0) return;
  const int error = errno;
  throw Error(Code::io, "cannot be extended to {} bytes", bytes)
      .at(file.path())
      .because_errno(error);
}

class Unpacking {
 public:
  // The datasets of a table, each as it is.
  Unpacking(const UnpackRequest& request, std::span<const Hdf5Dataset* const> datasets)
      : Unpacking(request) {
    for (const Hdf5Dataset* dataset : datasets) {
      columns_.push_back({.name = dataset->field_name(),
                          .shape = dataset->all_sides(),
                          .type = type_of(*dataset),
                          .address = 0,
                          .bytes = bytes_of_all(*dataset, dataset->sides()[0])});
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
        const std::vector<std::uint64_t> sides = dataset->all_sides();
        column.shape.insert(column.shape.end(), sides.begin() + 1, sides.end());
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
    if (const auto free = free_space(request_.into.descriptor()); free && end_ > *free)
      throw no_room_to_unpack(request_.file.path(), end_, *free);
    all_bytes_ = end_;
    set_size(request_.into, end_);
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
      // A value that is a dataset takes the library some objects to open.
      constexpr std::uint64_t kRowsPerSecond = 2000, kRowBytes = 16;
      if (target.dataset->storage == Hdf5Storage::referred) {
        limits.written_bytes += kMostReferredGrowth * request_.file.size();
        limits.cpu_seconds += target.bytes / kRowBytes / kRowsPerSecond;
      }
    }
    run_hdf5_child(
        request_.file, limits, [&](const SendMessage& send) { read_out(send); },
        [&](Bytes message) { take(message); }, [&] { report(); }, &request_.into);
    set_size(request_.into, end_);
    drop_lost_rows();
    write(0, head(end_));
  }

  // What is lost of a file that may be damaged, in the order of the rows.
  [[nodiscard]] LostRanges lost() const {
    LostRanges ranges;
    std::uint64_t gone = 0;
    for (const auto& [first, end, why] : lost_) {
      const std::string rows =
          end - first > 1 ? fmt::format("rows {} to {}: ", first, end - 1) : std::string();
      ranges.push_back({.before = first - gone, .samples = end - first, .why = rows + why});
      gone += end - first;
    }
    return ranges;
  }

 private:
  explicit Unpacking(const UnpackRequest& request)
      : request_(request), block_bytes_(request.memory_bytes / kShareOfMemory) {}

  // Messages of the child: u8 0, u64 bytes written, u64 end of the file; or u8 1, u64 target, u64
  // first row, u64 rows, text.
  void take(Bytes message) {
    ByteReader in(message, "what the HDF5 library's process says");
    if (in.read_u8() == 0) {
      done_bytes_ += in.read_u64();
      end_ = in.read_u64();
      return report();
    }
    const std::uint64_t number = in.read_u64(), first = in.read_u64(), rows = in.read_u64();
    const auto is_of = [&](const Column& column) {
      return targets_.at(number).address >= column.address &&
             targets_[number].address - column.address < column.bytes;
    };
    const auto column = std::ranges::find_if(columns_, is_of);
    if (column == columns_.end() || column->shape[0] == 0)
      throw Error(Code::damaged, "the HDF5 library's process lost rows of nothing");
    const std::uint64_t row_bytes = column->bytes / column->shape[0];
    const std::uint64_t begin = (targets_[number].address - column->address) / row_bytes + first;
    if (rows == 0 || begin > column->shape[0] || rows > column->shape[0] - begin)
      throw Error(Code::damaged, "the HDF5 library's process lost rows that there are not");
    lost_.push_back({begin, begin + rows, std::string(as_text(message.last(in.remaining())))});
  }

  // What is lost of one column is lost of all. Rows that are left follow one another.
  void drop_lost_rows() {
    std::ranges::stable_sort(lost_, {}, &LostRun::first);
    std::vector<LostRun> runs;
    for (LostRun& run : lost_) {
      if (!runs.empty() && run.first < runs.back().end)
        run.first = std::min(run.end, runs.back().end);
      const bool goes_on =
          !runs.empty() && run.first == runs.back().end && run.why == runs.back().why;
      if (run.first == run.end) continue;
      if (goes_on)
        runs.back().end = run.end;
      else
        runs.push_back(std::move(run));
    }
    lost_ = std::move(runs);
    if (lost_.empty()) return;
    for (Column& column : columns_) {
      const std::uint64_t row_bytes = column.bytes / column.shape[0];
      std::uint64_t into = lost_.front().first;
      for (std::size_t i = 0; i < lost_.size(); ++i) {
        const std::uint64_t from = lost_[i].end;
        const std::uint64_t end = i + 1 < lost_.size() ? lost_[i + 1].first : column.shape[0];
        move_bytes(column.address + from * row_bytes, column.address + into * row_bytes,
                   (end - from) * row_bytes);
        into += end - from;
      }
      column.shape[0] = into;
      column.bytes = into * row_bytes;
    }
    if (columns_.front().shape[0] > 0) return;
    throw Error(Code::damaged, "no sample of it is whole: {}", lost_.front().why);
  }

  void move_bytes(std::uint64_t from, std::uint64_t into, std::uint64_t bytes) const {
    const InputFile file(request_.into.link());
    std::vector<std::byte> piece;
    for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
      piece.resize(std::min(kNumbersAtOnce, bytes - done));
      file.read_exact(from + done, piece);
      write(into + done, piece);
    }
  }

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
      const bool is_demo = columns_[i].name == steps_->number_field;
      std::uint64_t at = columns_[i].address;
      ByteWriter out;
      const auto flush = [&] {
        write(at, out.bytes());
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
      said.write(std::uint8_t{0});
      said.write(bytes);
      said.write(end);
      send(said.bytes());
    };
    const auto lose = [&](const Hdf5LostRows& lost) {
      ByteWriter said;
      said.write(std::uint8_t{1});
      said.write(lost.target);
      said.write(lost.first);
      said.write(lost.rows);
      said.write_text(lost.why);
      send(said.bytes());
    };
    Hdf5ReadOut what{.from = request_.file,
                     .targets = targets_,
                     .block_bytes = block_bytes_,
                     .most_sequence_bytes = request_.file.size()};
    if (request_.takes_damaged) what.lose = lose;
    read_out_hdf5(what, PlainWriter(request_.into, end_, say));
  }

  void write(std::uint64_t offset, Bytes bytes) const {
    write_fully(request_.into.descriptor(), bytes, offset, request_.into.path());
  }

  void report() const {
    if (request_.progress) request_.progress(std::min(done_bytes_, all_bytes_), all_bytes_);
  }

  const UnpackRequest& request_;
  std::uint64_t block_bytes_;
  const Hdf5Steps* steps_ = nullptr;  // null: the datasets at the root are unpacked
  std::vector<Column> columns_;
  std::vector<Hdf5Target> targets_;
  struct LostRun {
    std::uint64_t first = 0, end = 0;
    std::string why = {};
  };
  std::vector<LostRun> lost_;  // rows of all columns
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
  if (!is_packed && !request.takes_damaged) return std::nullopt;
  Unpacking unpacking(request, steps);
  unpacking.run();
  UnpackReport report = steps.left;
  report.lost = unpacking.lost();
  return report;
}

// A file that is one episode.
UnpackReport unpack_episode(const UnpackRequest& request, Hdf5Description description) {
  Hdf5Steps steps =
      steps_of_hdf5_file(std::move(description), request.fields, request.first_episode);
  for (const Hdf5Dataset* dataset : steps.demos.front().datasets)
    if (dataset != nullptr) refuse_what_cannot_be_read(steps.description, *dataset);
  Unpacking unpacking(request, steps);
  unpacking.run();
  steps.left.lost = unpacking.lost();
  return std::move(steps.left);
}

// With fields only those are copied, wherever they lie: what is wrong with the others is ignored.
std::optional<UnpackReport> unpack_table(const UnpackRequest& request,
                                         const Hdf5Description& description) {
  if (description.is_large) return std::nullopt;
  const std::vector<std::string>& fields = request.fields;
  Hdf5Table table = choose_hdf5_table(description, fields);
  const bool is_packed = std::ranges::any_of(
      table.datasets, [](const Hdf5Dataset* one) { return has_to_be_read(*one); });
  const bool is_named = std::ranges::any_of(table.datasets, [&](const Hdf5Dataset* one) {
    return one->name != "key" && one->name != "keys";
  });
  const bool is_turned = !request.axes.empty();
  const bool is_unpacked = fields.empty() ? is_packed || is_turned : is_named;
  if (!is_unpacked && !request.takes_damaged) return std::nullopt;
  if (table.datasets.empty()) return std::nullopt;
  for (const Hdf5Dataset* dataset : table.datasets)
    refuse_what_cannot_be_read(description, *dataset);
  Unpacking unpacking(request, table.datasets);
  unpacking.run();
  table.left.lost = unpacking.lost();
  return std::move(table.left);
}

// Its samples, in a file of shale's own.
UnpackReport unpack_samples(const UnpackRequest& request, const Hdf5SamplePlace& place) {
  constexpr std::uint64_t kBufferBytes = 1 << 20;
  const OptionSet options(std::span<const OptionSpec>{});
  std::vector<OutputFile> files;
  Schema schema;
  std::unique_ptr<ShardWriter> writer;
  const Hdf5SampleSink sink{
      .begin =
          [&](const Schema& found) {
            schema = found;
            files.emplace_back(
                request.into.duplicate(), request.into.path(),
                OutputFile::Options{
                    .io = IoMode::buffered, .buffer_bytes = kBufferBytes, .buffers = 1});
            writer = create_hdf5_shard(files, schema, options);
          },
      .append =
          [&](const Sample& sample) {
            Record record = encode_hdf5(sample, schema, options);
            record.digest.samples = 1;
            (void)writer->append(record);
          }};
  const auto walk = [&](const Hdf5SampleWalk& of, const Hdf5SampleReceiver::Take& take,
                        const Hdf5SampleReceiver::Other& other, const std::function<void()>& ask) {
    walk_hdf5_samples(request.file, request.memory_bytes, of, take, other, ask);
  };
  UnpackReport report = unpack_hdf5_samples(request, place, walk, sink);
  (void)writer->close();
  (void)files[0].finish();
  // What the file does not say itself: strings lie in it as bytes do.
  const bool has_text = std::ranges::any_of(
      schema.fields, [](const Field& field) { return field.kind == Kind::text; });
  if (has_text && schema_text(schema).empty()) report.schema = std::move(schema);
  return report;
}

}  // namespace

std::optional<UnpackReport> unpack_hdf5_file(const UnpackRequest& request) {
  const auto progress = [&](auto, auto) {
    if (request.progress) request.progress(0, 0);
  };
  Hdf5Description description = probe_hdf5_file(request.file, progress, request.takes_damaged);
  try {
    if (may_have_hdf5_steps(request.parsing.dialect) && has_hdf5_steps(description))
      return unpack_steps(request, std::move(description));
    if (const auto place = hdf5_samples_in(description, request.parsing.dialect)) {
      if (place->is_file && request.parsing.dialect == Dialect::episodes)
        return unpack_episode(request, std::move(description));
      return unpack_samples(request, *place);
    }
    set_hdf5_axes(description, request.axes);
    return unpack_table(request, description);
  } catch (Error& error) {
    error.at(request.file.path());
    throw;
  }
}

}  // namespace shale
