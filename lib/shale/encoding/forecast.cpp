#include "shale/encoding/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/batch_cutter.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/encoding/sample_transformer.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/shards/index_file.hpp"
#include "shale/shards/shard_bounds.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMeasured = 32;

// Of the fields that image work changes.
std::uint64_t changed_bytes_of(const Sample& sample, const Transform& transform) {
  std::uint64_t sum = 0;
  for (const FieldTransform& field : transform.fields())
    sum += payload_bytes_of(sample.values[field.field]);
  return sum;
}

// What image work makes of some samples.
class Measurement {
 public:
  Measurement(const SourceInfo& info, std::uint64_t memory_bytes)
      : info_(info), budget_(memory_bytes, 1), transformer_(*info.transform, budget_) {}

  void take(PendingSample pending, std::uint64_t number) {
    Batch batch;
    batch.first = number;
    batch.bytes = pending.bytes;
    batch.pending.push_back(std::move(pending));
    const std::vector<Sample> samples = load_batch(batch, info_, reader_);
    ResultMemory results;
    const auto made = transformer_.run(samples.front(), number, results, false);
    if (!made || !made->fault.empty()) return;
    ++samples_;
    read_ += changed_bytes_of(samples.front(), *info_.transform);
    written_ += changed_bytes_of(made->sample, *info_.transform);
  }
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  // Of so many bytes that are read.
  [[nodiscard]] std::uint64_t results_of(std::uint64_t bytes) const {
    if (read_ == 0) return bytes;
    return static_cast<std::uint64_t>(std::llround(
        static_cast<double>(bytes) / static_cast<double>(read_) * static_cast<double>(written_)));
  }

 private:
  const SourceInfo& info_;
  TransformBudget budget_;
  SampleTransformer transformer_;
  BatchReader reader_{BatchReader::Options{}};
  std::uint64_t samples_ = 0, read_ = 0, written_ = 0;
};

bool is_left_out(const PendingSample& pending) {
  return !pending.lacks.empty() || !pending.damage.empty();
}

std::size_t files_of(const PendingSample& pending, std::size_t field) {
  return static_cast<std::size_t>(std::ranges::count(pending.files, field, &PendingFile::field));
}

// A sample without the bytes of its values; a list has so many elements.
template <class CountOf>
Sample hollow_sample(const PendingSample& pending, const Schema& schema, const CountOf& count_of) {
  Sample hollow;
  hollow.key = pending.key;
  hollow.sides = pending.sides;
  // One that lacks its row has none, and may be the largest of all.
  for (const Field& field : schema.fields) {
    if (pending.lacks_row && field.is_ragged())
      hollow.sides.resize(hollow.sides.size() + field.shape.size());
  }
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const IndexCell& cell = pending.cells[i];
    const Kind kind = schema.fields[i].kind;
    const bool is_file = files_of(pending, i) > 0;
    hollow.values.push_back(schema.fields[i].is_optional && !is_file &&
                                    is_absent(cell, schema.fields[i])
                                ? Value(std::monostate())
                            : kind == Kind::integer ? Value(cell.integer)
                            : kind == Kind::real    ? Value(cell.real)
                            : kind == Kind::list    ? Value(std::vector<Bytes>(count_of(i)))
                                                    : Value(Bytes()));
  }
  return hollow;
}

// Of the record of a sample, what its values do not take.
std::uint64_t frame_bytes(const PendingSample& pending, const Format& format, const Schema& schema,
                          const OptionSet& options) {
  const Sample hollow = hollow_sample(
      pending, schema, [&](std::size_t field) { return pending.cells[field].place.count; });
  std::uint64_t sum = 0;
  for (const Blob& part : format.encode(hollow, schema, options).parts) sum += part.size();
  return sum;
}

std::uint64_t divided_up(std::uint64_t number, std::uint64_t by) {
  return number / by + (number % by == 0 ? 0 : 1);
}

// The value of a field as far as its sizes go.
Value sizes_alone(const PendingSample& pending, std::size_t field, Kind kind) {
  if (kind != Kind::list) return std::make_shared<BytesOfSize>(pending.cells[field].place.length);
  std::vector<Unread> elements;
  for (const PendingFile& file : pending.files) {
    if (file.field == field) elements.push_back(std::make_shared<BytesOfSize>(file.bytes));
  }
  return elements;
}

// What the parts of a record take, exactly: those of the same sample with values of zeros, or with
// large ones that nobody reads. Errors: those of encode, for a sample that the format cannot hold.
std::vector<std::uint64_t> exact_parts(const PendingSample& pending, const SourceInfo& info,
                                       const Format& format, const OptionSet& options) {
  Sample sample = hollow_sample(pending, info.schema, [](std::size_t) { return std::size_t{0}; });
  std::vector<std::vector<std::byte>> zeros;
  const bool is_unread = may_stay_unread(info, format, options);
  for (std::size_t i = 0; i < info.schema.fields.size(); ++i) {
    const IndexCell& cell = pending.cells[i];
    const Kind kind = info.schema.fields[i].kind;
    Value& value = sample.values[i];
    if (!is_located(kind) || std::holds_alternative<std::monostate>(value)) continue;
    const auto known = std::ranges::find(pending.known, i, &KnownValue::field);
    if (kind == Kind::list && known != pending.known.end()) {
      value = elements_of_known(as_bytes(known->bytes));
    } else if (is_unread && cell.place.length >= kLeastUnreadBytes) {
      value = sizes_alone(pending, i, kind);
    } else if (kind == Kind::list) {
      std::vector<Bytes> elements;
      for (const PendingFile& file : pending.files) {
        if (file.field == i) elements.emplace_back(zeros.emplace_back(file.bytes));
      }
      value = std::move(elements);
    } else {
      value = Bytes(zeros.emplace_back(cell.place.length));
    }
  }
  std::vector<std::uint64_t> parts;
  for (const Blob& part : format.encode(sample, info.schema, options).parts)
    parts.push_back(part.size());
  return parts;
}

// The same without memory for the values, and at most some bytes too few: those of the same sample
// with empty values, and the values.
std::vector<std::uint64_t> forecast_parts(const PendingSample& pending, const SourceInfo& info,
                                          const Format& format, const OptionSet& options,
                                          const ShardLayout& layout) {
  const Sample hollow = hollow_sample(pending, info.schema,
                                      [&](std::size_t field) { return files_of(pending, field); });
  std::vector<std::uint64_t> payload(layout.part_file.size());
  for (std::size_t i = 0; i < info.schema.fields.size(); ++i) {
    if (is_located(info.schema.fields[i].kind))
      payload[layout.field_part[i]] += pending.cells[i].place.length;
  }
  const Record record = format.encode(hollow, info.schema, options);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] += record.parts[i].size();
  return payload;
}

// Of its values that are not numbers.
std::uint64_t payload_of(const PendingSample& pending, const Schema& schema) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    if (is_located(schema.fields[i].kind)) bytes += pending.cells[i].place.length;
  }
  return bytes;
}

// The elements of its lists.
std::uint64_t elements_of(const PendingSample& pending, const Schema& schema) {
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < schema.fields.size(); ++i)
    elements += schema.fields[i].kind == Kind::list ? pending.cells[i].place.count : 0;
  return elements;
}

// What is known of one sample of a source of fixed rows without reading it.
PendingSample fixed_sample(const SourceInfo& info, std::uint64_t number) {
  PendingSample pending;
  pending.key = std::to_string(number);
  for (const Field& field : info.schema.fields)
    pending.cells.push_back({.place = {.offset = 0, .length = fixed_bytes_of(field).value()}});
  return pending;
}

// Of rows of one size, which need not be read; some may be lost.
std::uint64_t count_lost(Source& source) {
  constexpr std::uint64_t kMostRows = 1 << 20;
  std::uint64_t lost = 0;
  if (source.info().on_damage != OnDamage::leave_out) return lost;
  while (const std::optional<PendingSample> run = source.next(kMostRows))
    lost += is_left_out(*run) ? 1 : 0;
  return lost;
}

ShardForecast forecast_runs(Source& source, const Format& format, const OptionSet& options,
                            std::uint64_t rows_a_shard, std::uint64_t shard_bytes) {
  const SourceInfo& info = source.info();
  ShardForecast forecast{.left_out = count_lost(source)};
  const std::uint64_t all = info.manifest.samples - forecast.left_out;
  forecast.payload_bytes = all * payload_of(fixed_sample(info, 0), info.schema);
  const IndexColumns columns(info.schema, format.layout(info.schema, options));
  std::vector<std::uint64_t> parts(info.schema.fields.size());
  for (std::uint64_t row = 0; row < all; row += rows_a_shard) {
    const std::uint64_t rows =
        std::clamp<std::uint64_t>(all - row, 1, std::max<std::uint64_t>(rows_a_shard, 1));
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = rows * fixed_bytes_of(info.schema.fields[i]).value();
    const std::vector<std::uint64_t> sizes =
        format.create_sizer(info.schema, options)->size_with(parts, rows);
    if (rows_a_shard == 0)
      throw sample_too_large(largest_file_of(sizes, rows, 0, columns), shard_bytes)
          .for_sample({}, row);
    forecast.file_bytes += all_files_of(sizes, rows, 0, columns);
    forecast.data_bytes += std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    ++forecast.shards;
  }
  return forecast;
}

}  // namespace

ShardForecast forecast_transformed(Source& source, const Format& format, std::uint64_t shard_bytes,
                                   std::uint64_t shard_samples, std::uint64_t memory_bytes,
                                   OnError on_error) {
  const SourceInfo& info = source.info();
  const Transform& transform = *info.transform;
  const OptionSet options(format.options);
  const IndexColumns columns(info.schema, format.layout(info.schema, options));
  const std::uint64_t step = std::max<std::uint64_t>(1, info.manifest.samples / kMeasured);
  const std::optional<std::uint64_t> fixed = transform.fixed_bytes();
  Measurement measurement(info, memory_bytes);
  ShardForecast forecast;
  std::uint64_t samples = 0, elements = 0, others = 0, worked_on = 0;
  while (std::optional<PendingSample> pending = source.next(1)) {
    refuse_incomplete(*pending, samples, on_error);
    if (is_left_out(*pending)) {
      ++forecast.left_out;
      continue;
    }
    others += frame_bytes(*pending, format, info.schema, options);
    std::vector<bool> changes(info.schema.fields.size());
    for (const FieldTransform& field : transform.fields()) changes[field.field] = true;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const FieldPlace& place = pending->cells[i].place;
      if (!is_located(transform.input().fields[i].kind)) continue;
      (changes[i] ? worked_on : others) += place.length;
      if (info.schema.fields[i].kind == Kind::list) elements += place.count;
    }
    const std::uint64_t number = samples++;
    if (!fixed && number % step == step / 2) measurement.take(std::move(*pending), number);
  }
  forecast.data_bytes = others + (fixed ? samples * *fixed : measurement.results_of(worked_on));
  if (!fixed) forecast.measured = measurement.samples();
  forecast.shards =
      std::max(divided_up(samples, std::max<std::uint64_t>(1, shard_samples)),
               divided_up(forecast.data_bytes, std::max<std::uint64_t>(1, shard_bytes)));
  const std::vector<std::uint64_t> sizes = {forecast.data_bytes};
  forecast.file_bytes = all_files_of(sizes, samples, elements, columns);
  return forecast;
}

void refuse_too_large(const SourceInfo& info, const Format& format, const OptionSet& options,
                      std::uint64_t shard_bytes, std::uint64_t memory_bytes) {
  PendingSample least;  // what every sample is at least; of rows, which are all alike, what it is
  least.cells.resize(info.schema.fields.size());
  if (info.manifest.samples > 0) least.bytes = info.row_bytes.value_or(0);
  const bool leaves_large = may_stay_unread(info, format, options);
  refuse_over_budget(info.largest.value_or(least), info, leaves_large,
                     payload_memory(memory_bytes, info));
  if (!info.largest || info.transform) return;  // what image work makes of it is not known
  const bool is_near_limit = info.largest->bytes > format.can.largest_record / 2;
  if (leaves_large && is_near_limit) (void)exact_parts(*info.largest, info, format, options);
  const ShardLayout layout = format.layout(info.schema, options);
  const auto bytes_with = [&](const std::vector<std::uint64_t>& parts) {
    return largest_file_of(format.create_sizer(info.schema, options)->size_with(parts), 1,
                           elements_of(*info.largest, info.schema),
                           IndexColumns(info.schema, layout));
  };
  if (bytes_with(forecast_parts(*info.largest, info, format, options, layout)) <= shard_bytes)
    return;
  throw sample_too_large(bytes_with(exact_parts(*info.largest, info, format, options)), shard_bytes)
      .for_sample(info.largest->key);
}

ShardForecast forecast_shards(Source& source, const Format& format, std::uint64_t shard_bytes,
                              std::uint64_t shard_samples, OnError on_error) {
  const SourceInfo& info = source.info();
  const OptionSet options(format.options);
  const ShardLayout layout = format.layout(info.schema, options);
  if (const std::optional<std::uint64_t> rows =
          rows_within({shard_bytes, shard_samples}, format, info.schema, options))
    return forecast_runs(source, format, options, *rows, shard_bytes);
  const IndexColumns columns(info.schema, layout);
  ShardForecast forecast{.payload_bytes = 0};
  if (info.row_bytes) forecast.left_out = count_lost(source);
  const std::uint64_t rows = info.manifest.samples - forecast.left_out;
  // Rows of arrays are all alike: not one has to be read.
  const auto next = [&](std::uint64_t number) -> std::optional<PendingSample> {
    if (!info.row_bytes) return source.next(1);
    if (number == rows) return std::nullopt;
    return fixed_sample(info, number);
  };
  std::unique_ptr<ShardSizer> sizer;
  std::uint64_t samples = 0, elements = 0, shard_total = 0, shard_data = 0;
  for (std::uint64_t number = 0; const std::optional<PendingSample> pending = next(number);
       ++number) {
    refuse_incomplete(*pending, number, on_error);
    if (is_left_out(*pending)) {
      ++forecast.left_out;
      continue;
    }
    const std::vector<std::uint64_t> parts =
        forecast_parts(*pending, info, format, options, layout);
    *forecast.payload_bytes += payload_of(*pending, info.schema);
    const std::uint64_t more = elements_of(*pending, info.schema);
    for (bool is_new = !sizer;; is_new = true) {
      if (is_new) {
        sizer = format.create_sizer(info.schema, options);
        samples = elements = 0;
      }
      const std::vector<std::uint64_t> sizes = sizer->size_with(parts);
      const std::uint64_t largest = largest_file_of(sizes, samples + 1, elements + more, columns);
      const bool fits = largest <= shard_bytes && samples < shard_samples;
      if (!fits && is_new) {
        throw sample_too_large(largest, shard_bytes).for_sample(pending->key, number);
      }
      if (!fits) {
        forecast.file_bytes += shard_total;
        forecast.data_bytes += shard_data;
        continue;
      }
      forecast.shards += is_new ? 1 : 0;
      shard_total = all_files_of(sizes, samples + 1, elements + more, columns);
      shard_data = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
      break;
    }
    sizer->add(parts);
    ++samples;
    elements += more;
  }
  forecast.file_bytes += shard_total;
  forecast.data_bytes += shard_data;
  return forecast;
}

}  // namespace shale
