#include "shale/encoding/sample_loader.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/unread_bytes.hpp"
#include "shale/data/byte_swap.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/encoding/archived_value.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/numbers/casts.hpp"
#include "shale/wire/npy_value.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLeastBatchBytes = 256 * 1024, kMostBatchBytes = 2 << 20;

Error changed_file(std::string_view how, std::uint64_t bytes) {
  return Error(Code::io, "file has {}: it had {} bytes when it was listed", how, bytes);
}

bool is_image(const SourceInfo& source, std::size_t field) {
  return std::ranges::find(source.image_fields, field) != source.image_fields.end();
}

// One field of one sample to be read, or one element of a list.
struct Wanted {
  std::size_t sample, field;
  std::uint64_t bytes;
  const std::string* path = nullptr;  // of a small file
  std::uint64_t offset = 0;           // in an open file
  const PendingFile* file = nullptr;  // one of PendingSample::files, wherever it lies
};

// The .npy file that the value of a field is in; null: it is none.
const PendingFile* array_of(const PendingSample& sample, std::size_t field) {
  const auto file = std::ranges::find(sample.files, field, &PendingFile::field);
  return file != sample.files.end() && file->array ? &*file : nullptr;
}

// Into the rest of the buffer of the batch, where it has to be reordered.
void take_array(Sample& sample, PendingSample& pending, const Schema& schema,
                const PendingFile& file, std::span<std::byte> content, std::span<std::byte>& room) {
  const std::string_view path = file.path;
  try {
    const NpyValue array =
        read_npy_value(*file.array, content, room, path.substr(path.rfind('/') + 1));
    sample.values[file.field] = array.elements;
    set_shape(sample.sides, schema, file.field, array.shape);
    room = room.subspan(array.room_bytes);
  } catch (const Error& error) {
    pending.bad_array = fmt::format("has no array in field '{}': {}", printable(file.array->name),
                                    damage_text(error));
  }
}

// Of an optional field that is not a number.
bool is_absent(const PendingSample& sample, std::size_t field) {
  return sample.cells[field].place.offset == kMissing &&
         std::ranges::find(sample.files, field, &PendingFile::field) == sample.files.end() &&
         std::ranges::find(sample.known, field, &KnownValue::field) == sample.known.end();
}

const Schema& schema_before_casts(const SourceInfo& source) {
  return source.casts ? source.casts->input() : source.schema;
}

// Of a value in its file; its cell has the length that it gets.
std::uint64_t bytes_before_casts(const SourceInfo& source, std::size_t field,
                                 std::uint64_t length) {
  const FieldNumbersCast* const cast = source.casts ? source.casts->of(field) : nullptr;
  return cast == nullptr ? length : cast->bytes_before(length);
}

struct Requests {
  std::vector<ReadRequest> reads;
  std::uint64_t end = 0;  // of what they take of the buffer
};

Requests make_requests(Batch& batch, const SourceInfo& source, std::vector<Wanted>& wanted) {
  const Schema& schema = schema_before_casts(source);
  std::vector<ReadRequest> requests;
  std::uint64_t most_files = 0;
  for (const PendingSample& sample : batch.pending) most_files += sample.files.size();
  batch.buffer.require(
      (batch.leaves_large ? held_bytes(batch.pending.front(), source) : batch.bytes) + most_files);
  std::uint64_t position = 0;
  // A file gets one byte more than it had when it was listed: one that has grown shows.
  const auto want_file = [&](std::size_t s, const PendingFile& file) {
    requests.push_back({.path = file.path.c_str(),
                        .descriptor = -1,
                        .offset = 0,
                        .into = batch.buffer.bytes().subspan(position, file.bytes + 1)});
    wanted.push_back({s, file.field, file.bytes, &file.path, 0, &file});
    position += file.bytes + 1;
  };
  const auto want_extent = [&](std::size_t s, std::size_t f, std::uint64_t bytes,
                               ReadRequest request, const PendingFile* file = nullptr) {
    request.into = batch.buffer.bytes().subspan(position, bytes);
    requests.push_back(request);
    const bool is_closed = file != nullptr && request.descriptor < 0;
    wanted.push_back({s, f, bytes, is_closed ? &file->archived.archive->file().path() : nullptr,
                      request.offset, file});
    position += bytes;
  };
  for (std::size_t s = 0; s < batch.pending.size(); ++s) {
    const PendingSample& sample = batch.pending[s];
    if (!sample.lacks.empty() || !sample.damage.empty() || !sample.bad_array.empty()) continue;
    auto file = sample.files.begin();
    auto known = sample.known.begin();
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      if (!is_located(schema.fields[f].kind)) continue;
      if (schema.fields[f].is_optional && is_absent(sample, f)) continue;
      if (batch.leaves_large && stays_unread(sample, source, f)) {
        while (file != sample.files.end() && file->field == f) ++file;
        continue;
      }
      const FieldPlace& place = sample.cells[f].place;
      if (known != sample.known.end() && known->field == f) {
        ++known;
        continue;
      }
      if (file != sample.files.end() && file->field == f) {
        for (; file != sample.files.end() && file->field == f; ++file) {
          if (file->archived.archive) {
            const std::uint64_t packed = file->archived.packed_bytes;
            want_extent(s, f, packed > 0 ? packed : file->bytes, request_of(file->archived),
                        &*file);
          } else {
            want_file(s, *file);
          }
        }
        continue;
      }
      want_extent(s, f, bytes_before_casts(source, f, place.length),
                  {.descriptor = sample.descriptors[f], .offset = place.offset});
    }
  }
  return {std::move(requests), position};
}

void add_unfit(PendingSample& pending, UnfitNumbers unfit) {
  if (unfit.count == 0) return;
  if (pending.unfit) {
    unfit.count += pending.unfit->count;
    unfit.first = pending.unfit->first;
  }
  pending.unfit = std::make_shared<UnfitNumbers>(std::move(unfit));
}

// Into the rest of the buffer of the batch.
void cast_values(Sample& sample, PendingSample& pending, const Casts& casts,
                 std::span<std::byte>& room) {
  UnfitNumbers unfit;
  for (const FieldNumbersCast& cast : casts.fields()) {
    Value& value = sample.values[cast.field()];
    const auto* const numbers = std::get_if<Bytes>(&value);
    if (numbers == nullptr) continue;
    const std::span<std::byte> into = room.first(cast.bytes_after(numbers->size()));
    room = room.subspan(into.size());
    cast.run(*numbers, into, unfit);
    if (is_located(cast.after().kind)) {
      value = Bytes(into);
      continue;
    }
    const IndexCell number = read_number(into, cast.after());
    value = cast.after().kind == Kind::integer ? Value(number.integer) : Value(number.real);
  }
  add_unfit(pending, std::move(unfit));
}

// Before any of its bytes are believed.
void check_archives(const Batch& batch) {
  const ArchiveFile* checked = nullptr;
  for (const PendingSample& sample : batch.pending) {
    for (const PendingFile& file : sample.files) {
      const ArchiveFile* const archive = file.archived.archive.get();
      if (archive == nullptr || archive == checked) continue;
      checked = archive;
      archive->refuse_changes();
    }
  }
}

// After it was read: what is written in between has another time. Where reading failed, the error
// says more.
void check_files(const PendingSample& sample, std::uint64_t number) {
  for (const PendingFile& file : sample.files) {
    if (!file.archived.archive) check_listed(file.path, file.bytes, file.modified_ns, number);
  }
}

// What was read of a value, unpacked into the rest of the buffer of the batch if it has to be. Its
// checksum, if there is one, is that of its bytes.
std::span<std::byte> proved(const ValueRead& value, const PendingSample& sample,
                            const Wanted& wanted, std::span<std::byte> extent,
                            std::span<std::byte>& room) {
  if (wanted.file != nullptr && wanted.file->archived.archive) try {
      return unpacked_file(*wanted.file, extent, room);
    } catch (Error& error) {
      throw error.for_sample(value.key, value.number);
    }
  const std::uint32_t expected = sample.cells[wanted.field].place.crc32c;
  if (wanted.file != nullptr || !sample.proves(wanted.field)) return extent;
  if (const std::uint32_t found = crc32c(extent); found != expected)
    throw wrong_value(value, found, expected);
  return extent;
}

// It lies in an archive that is the sample: what is damaged there is bad content of one file.
bool is_in_own_archive(const PendingFile* file, const PendingSample& sample) {
  return file != nullptr && file->archived.archive != nullptr &&
         file->archived.archive->file().path().ends_with(sample.key);
}

// Nullopt for what is damaged, and left out: the sample then says why.
std::optional<std::span<std::byte>> proved_or_told(const ValueRead& value, PendingSample& sample,
                                                   const Wanted& wanted,
                                                   std::span<std::byte> extent,
                                                   std::span<std::byte>& room,
                                                   const SourceInfo& source) try {
  return proved(value, sample, wanted, extent, room);
} catch (const Error& error) {
  if (error.code() == Code::damaged && is_in_own_archive(wanted.file, sample)) {
    const std::string& field = schema_before_casts(source).fields[wanted.field].name;
    sample.bad_array =
        fmt::format("has no array in field '{}': {}", printable(field), damage_text(error));
    return std::nullopt;
  }
  if (source.on_damage != OnDamage::leave_out || error.code() != Code::damaged)
    throw with_way_out(error, source.on_damage);
  sample.damage = damage_text(error);
  return std::nullopt;
}

// Into the rest of the buffer of the batch.
void cast_run(std::vector<Bytes>& columns, PendingSample& run, const Casts& casts,
              std::span<std::byte>& room) {
  UnfitNumbers unfit;
  for (const FieldNumbersCast& cast : casts.fields()) {
    Bytes& column = columns[cast.field()];
    const std::span<std::byte> into = room.first(cast.bytes_after(column.size()));
    room = room.subspan(into.size());
    cast.run_rows(column, run.rows, into, unfit);
    column = into;
  }
  if (unfit.count > 0) unfit.key = std::to_string(run.first_number + unfit.rows.front().first);
  add_unfit(run, std::move(unfit));
}

void check_run(const PendingSample& run, const ReadRequest& request, const ReadResult& result) {
  if (result.error == 0 && result.bytes == request.into.size()) return;
  Error error(Code::io, "cannot read {} rows: only {} of their {} bytes at {} are there", run.rows,
              result.bytes, request.into.size(), request.offset);
  error.at(path_of(request.descriptor)).for_sample({}, run.first_number);
  if (result.error != 0) error.because_errno(result.error);
  throw error.hint("restore the input if it was truncated, then run the same command again");
}

}  // namespace

std::uint64_t bytes_of_batch(std::uint64_t memory_bytes, unsigned jobs) {
  return std::clamp(memory_bytes / most_batches_in_flight(jobs), kLeastBatchBytes, kMostBatchBytes);
}

std::string memory_for_sample_hint(std::uint64_t bytes) {
  constexpr std::uint64_t kBuffers = 16 << 20;
  return enough_memory_hint(2 * bytes + kBuffers);
}

Error sample_over_memory(std::uint64_t bytes, std::uint64_t memory_bytes) {
  return Error(Code::limit, "sample is {} bytes, but --memory leaves {} for samples", bytes,
               memory_bytes)
      .hint(memory_for_sample_hint(bytes) + ", or leave the sample out of the input");
}

void check_read(const ValueRead& value, const ReadResult& result) {
  const bool is_file = value.path != nullptr;
  // Of an image folder the path says which sample it is.
  const std::string key = is_file && value.path->ends_with(value.key) ? "" : value.key;
  if (is_file && result.error == ENOENT) {
    throw changed_file("gone", value.bytes)
        .at(*value.path)
        .for_sample(key, value.number)
        .hint(
            "restore it and run the same command again, or pass --overwrite to start again with "
            "the input as it is now");
  }
  if (result.error != 0) {
    throw read_failed(is_file ? *value.path : path_of(value.descriptor),
                      is_file && !is_hiccup(result.error)
                          ? std::nullopt
                          : std::optional(value.offset + result.bytes),
                      value.bytes, result.error)
        .for_sample(key, value.number)
        .hint(
            "storage errors stop the run, so that no sample is lost; run the same command "
            "again");
  }
  if (result.bytes == value.bytes) return;
  throw changed_file(
      result.bytes < value.bytes ? fmt::format("shrunk to {} bytes", result.bytes) : "grown",
      value.bytes)
      .at(is_file ? *value.path : path_of(value.descriptor))
      .for_sample(key, value.number)
      .hint(
          "something is writing to the input; wait until it stops, then run the same command "
          "again");
}

void check_listed(const std::string& path, std::uint64_t bytes, std::int64_t modified_ns,
                  std::uint64_t number) {
  if (modified_ns == 0) return;
  const std::optional<FileStamp> stamp = stamp_of(path);
  if (!stamp || *stamp == FileStamp{}) return;  // reading it says more
  if (stamp->bytes == bytes && stamp->modified_ns == modified_ns) return;
  throw Error(Code::mismatch, "file has changed since the input was listed: it {}",
              stamp->bytes != bytes ? fmt::format("had {} bytes and has {}", bytes, stamp->bytes)
                                    : "was modified in between")
      .at(path)
      .for_sample("", number)
      .hint(
          "restore the file as it was (size and time of modification), or pass --overwrite to "
          "start again with the input as it is now");
}

Error wrong_value(const ValueRead& value, std::uint32_t found, std::uint32_t expected) {
  return checksum_mismatch(value.bytes, found, expected)
      .error()
      .at(path_of(value.descriptor), value.offset)
      .for_sample(value.key, value.number)
      .hint("run 'shale verify' on the input to list all the damage");
}

Error without_hint(const Error& error) {
  Error told(error.code(), "{}", error.message());
  if (!error.file().empty()) told.at(error.file(), error.offset());
  if (error.sample()) told.for_sample(error.sample()->key, error.sample()->index);
  if (!error.cause().empty()) told.because(error.cause());
  return told;
}

Error with_way_out(Error error, OnDamage on_damage) {
  if (on_damage != OnDamage::suggest || error.code() != Code::damaged) return error;
  return without_hint(error).hint(
      "restore the input from an intact copy, or pass --on-error skip to leave out what is "
      "damaged; 'shale verify' lists all the damage");
}

std::string damage_text(const Error& error) {
  std::string text = error.file().substr(error.file().rfind('/') + 1);
  if (error.offset()) text += fmt::format(": byte {}", *error.offset());
  text += (text.empty() ? "" : ": ") + error.message();
  return error.cause().empty() ? text : text + ": " + error.cause();
}

bool may_stay_unread(const SourceInfo& source, const Format& format, const OptionSet& options) {
  const bool takes_unread = format.takes_unread != nullptr && format.takes_unread(options);
  return takes_unread && !source.is_stream && !source.transform && !source.row_bytes;
}

bool stays_unread(const PendingSample& sample, const SourceInfo& source, std::size_t field) {
  const Kind kind = source.schema.fields[field].kind;
  if (!is_located(kind) || source.schema.fields[field].holds_text()) return false;
  if (source.casts && source.casts->of(field) != nullptr) return false;
  if (array_of(sample, field) != nullptr) return false;
  const auto is_packed = [&](const PendingFile& file) {
    return file.field == field && file.archived.packed_bytes > 0;
  };
  if (std::ranges::any_of(sample.files, is_packed)) return false;
  if (sample.cells[field].place.length < kLeastUnreadBytes) return false;
  if (kind != Kind::list && is_image(source, field)) return false;
  return std::ranges::find(sample.known, field, &KnownValue::field) == sample.known.end();
}

std::uint64_t held_bytes(const PendingSample& sample, const SourceInfo& source) {
  std::uint64_t bytes = 0, largest_image = 0;
  for (std::size_t i = 0; i < source.schema.fields.size(); ++i) {
    const std::uint64_t length = sample.cells[i].place.length;
    if (const PendingFile* const array = array_of(sample, i))
      bytes += PendingFile::kArrayCopies * array->bytes;
    if (source.casts && source.casts->of(i) != nullptr)
      bytes += bytes_before_casts(source, i, length);
    else if (!is_located(source.schema.fields[i].kind))
      continue;
    if (!stays_unread(sample, source, i)) bytes += length;
    if (!is_image(source, i)) continue;
    for (const PendingFile& file : sample.files) {
      if (file.field == i) largest_image = std::max(largest_image, file.bytes);
    }
  }
  for (const PendingFile& file : sample.files) bytes += file.archived.packed_bytes;
  return bytes + largest_image + 2 * UnreadBytes::kPieceBytes;
}

bool has_images_of_unknown_size(const PendingSample& sample, const SourceInfo& source) {
  return sample.files.empty() && std::ranges::any_of(source.image_fields, [&](std::size_t field) {
           return source.schema.fields[field].kind == Kind::list &&
                  stays_unread(sample, source, field);
         });
}

void set_shape(std::span<std::uint64_t> sides, const Schema& schema, std::size_t field,
               std::span<const std::uint64_t> shape) {
  if (!schema.fields[field].is_ragged()) return;
  std::size_t before = 0;
  for (const Field& one : std::span(schema.fields).first(field))
    before += one.is_ragged() ? one.shape.size() : 0;
  std::ranges::copy(shape, sides.subspan(before).begin());
}

void ReadBuffer::require(std::uint64_t bytes) {
  if (bytes <= capacity_) return;
  bytes_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  capacity_ = bytes;
}

std::vector<Sample> load_batch(Batch& batch, const SourceInfo& source, BatchReader& reader) {
  const Schema& schema = schema_before_casts(source);
  std::vector<Wanted> wanted;
  const Requests asked = make_requests(batch, source, wanted);
  const std::vector<ReadRequest>& requests = asked.reads;
  const std::vector<ReadResult> results = reader.read(requests);

  const auto value_of = [&](std::size_t i) {
    const Wanted& one = wanted[i];
    return ValueRead{batch.pending[one.sample].key,
                     batch.first + one.sample,
                     one.bytes,
                     one.path,
                     requests[i].descriptor,
                     one.offset};
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].error != 0) check_read(value_of(i), results[i]);
  }
  check_archives(batch);
  std::vector<Sample> samples(batch.pending.size());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    check_files(batch.pending[s], batch.first + s);
    samples[s].key = batch.pending[s].key;
    samples[s].sides = batch.pending[s].sides;
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      const IndexCell& cell = batch.pending[s].cells[f];
      if (schema.fields[f].is_optional && shale::is_absent(cell, schema.fields[f])) {
        samples[s].values.emplace_back(std::monostate());
      } else if (schema.fields[f].kind == Kind::real) {
        samples[s].values.emplace_back(cell.real);
      } else {
        samples[s].values.emplace_back(cell.integer);
      }
    }
    for (const KnownValue& known : batch.pending[s].known) {
      Value& value = samples[s].values[known.field];
      value = as_bytes(known.bytes);
      if (schema.fields[known.field].kind == Kind::list)
        value = elements_of_known(as_bytes(known.bytes));
    }
  }
  std::span<std::byte> room = batch.buffer.bytes().subspan(asked.end);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& [s, f, bytes, path, offset, file] = wanted[i];
    PendingSample& pending = batch.pending[s];
    const ValueRead value = value_of(i);
    check_read(value, results[i]);
    const std::optional<std::span<std::byte>> whole =
        proved_or_told(value, pending, wanted[i], requests[i].into.first(bytes), room, source);
    if (!whole) continue;
    const std::span<std::byte> extent = *whole;
    if (const PendingFile* const array = array_of(pending, f);
        array != nullptr && file != nullptr) {
      take_array(samples[s], pending, schema, *array, extent, room);
    } else if (file != nullptr && schema.fields[f].kind == Kind::list) {
      Value& list = samples[s].values[f];
      if (!std::holds_alternative<std::vector<Bytes>>(list)) list = std::vector<Bytes>();
      std::get<std::vector<Bytes>>(list).emplace_back(extent);
    } else if (schema.fields[f].kind == Kind::list) {
      samples[s].values[f] =
          split_list(*source.container, extent, pending.cells[f].place,
                     elements_of_field(pending.elements, pending.cells, schema, f));
    } else {
      samples[s].values[f] = Bytes(extent);
    }
  }
  for (std::size_t s = 0; source.casts && s < samples.size(); ++s) {
    PendingSample& pending = batch.pending[s];
    if (pending.lacks.empty() && pending.damage.empty() && pending.bad_array.empty())
      cast_values(samples[s], pending, *source.casts, room);
  }
  return samples;
}

std::vector<std::vector<Bytes>> load_runs(Batch& batch, const SourceInfo& source,
                                          BatchReader& reader) {
  const std::vector<Field>& fields = schema_before_casts(source).fields;
  batch.buffer.require(batch.bytes);
  std::vector<std::span<std::byte>> columns;  // those of all runs, one run after the other
  std::vector<ReadRequest> requests;
  std::vector<const PendingSample*> of_request;
  std::uint64_t position = 0;
  for (PendingSample& run : batch.pending) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (f < run.columns.size() && run.columns[f] != nullptr) {
        columns.emplace_back(*run.columns[f]);
        continue;
      }
      if (!run.damage.empty()) {
        columns.emplace_back();
        continue;
      }
      const FieldPlace& place = run.cells[f].place;
      columns.push_back(
          batch.buffer.bytes().subspan(position, bytes_before_casts(source, f, place.length)));
      position += columns.back().size();
      requests.push_back({.path = nullptr,
                          .descriptor = run.descriptors[f],
                          .offset = place.offset,
                          .into = columns.back()});
      of_request.push_back(&run);
    }
  }
  const std::vector<ReadResult> results = reader.read(requests);
  for (std::size_t i = 0; i < results.size(); ++i)
    check_run(*of_request[i], requests[i], results[i]);

  std::vector<std::vector<Bytes>> runs;
  std::span<std::byte> room = batch.buffer.bytes().subspan(position);
  for (std::size_t i = 0; i < batch.pending.size(); ++i) {
    PendingSample& run = batch.pending[i];
    const auto own = std::span(columns).subspan(i * fields.size(), fields.size());
    for (std::size_t f = 0; f < run.swaps.size(); ++f)
      swap_bytes(own[f], dtype_of_column(fields[f]).item_bytes(), run.swaps[f]);
    runs.emplace_back(own.begin(), own.end());
    if (source.casts && run.damage.empty()) cast_run(runs.back(), run, *source.casts, room);
  }
  return runs;
}

}  // namespace shale
