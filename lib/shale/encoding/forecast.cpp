#include "shale/encoding/forecast.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/batch_cutter.hpp"
#include "shale/encoding/sample_transformer.hpp"
#include "shale/encoding/unread_rule.hpp"
#include "shale/shards/index_file.hpp"
#include "shale/shards/shard_bounds.hpp"

namespace shale {
namespace {

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
  Sample sample;
  sample.key = pending.key;
  std::vector<std::vector<std::byte>> zeros;
  const bool is_unread = may_stay_unread(info, format, options);
  for (std::size_t i = 0; i < info.schema.fields.size(); ++i) {
    const IndexCell& cell = pending.cells[i];
    if (is_unread && cell.place.length >= kLeastUnreadBytes &&
        is_located(info.schema.fields[i].kind)) {
      sample.values.push_back(sizes_alone(pending, i, info.schema.fields[i].kind));
      continue;
    }
    switch (info.schema.fields[i].kind) {
      case Kind::integer:
        sample.values.emplace_back(cell.integer);
        break;
      case Kind::real:
        sample.values.emplace_back(cell.real);
        break;
      case Kind::list: {
        std::vector<Bytes> elements;
        for (const PendingFile& file : pending.files) {
          if (file.field == i) elements.emplace_back(zeros.emplace_back(file.bytes));
        }
        sample.values.emplace_back(std::move(elements));
        break;
      }
      default:
        sample.values.emplace_back(Bytes(zeros.emplace_back(cell.place.length)));
    }
  }
  std::vector<std::uint64_t> parts;
  for (const Blob& part : format.encode(sample, info.schema, options).parts)
    parts.push_back(part.size());
  return parts;
}

std::size_t files_of(const PendingSample& pending, std::size_t field) {
  return static_cast<std::size_t>(std::ranges::count(pending.files, field, &PendingFile::field));
}

// The same without memory for the values, and at most some bytes too few: those of the same sample
// with empty values, and the values.
std::vector<std::uint64_t> forecast_parts(const PendingSample& pending, const SourceInfo& info,
                                          const Format& format, const OptionSet& options,
                                          const ShardLayout& layout) {
  Sample hollow;
  hollow.key = pending.key;
  std::vector<std::uint64_t> payload(layout.part_file.size());
  for (std::size_t i = 0; i < info.schema.fields.size(); ++i) {
    const Kind kind = info.schema.fields[i].kind;
    const IndexCell& cell = pending.cells[i];
    if (kind == Kind::integer) {
      hollow.values.emplace_back(cell.integer);
    } else if (kind == Kind::real) {
      hollow.values.emplace_back(cell.real);
    } else {
      hollow.values.push_back(kind == Kind::list ? Value(std::vector<Bytes>(files_of(pending, i)))
                                                 : Value(Bytes()));
      payload[layout.field_part[i]] += cell.place.length;
    }
  }
  const Record record = format.encode(hollow, info.schema, options);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] += record.parts[i].size();
  return payload;
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

ShardForecast forecast_runs(const SourceInfo& info, const Format& format, const OptionSet& options,
                            std::uint64_t rows_a_shard, std::uint64_t shard_bytes) {
  ShardForecast forecast;
  const IndexColumns columns(info.schema, format.layout(info.schema, options));
  std::vector<std::uint64_t> parts(info.schema.fields.size());
  for (std::uint64_t row = 0; row < info.manifest.samples; row += rows_a_shard) {
    const std::uint64_t rows = std::clamp<std::uint64_t>(info.manifest.samples - row, 1,
                                                         std::max<std::uint64_t>(rows_a_shard, 1));
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = rows * fixed_bytes_of(info.schema.fields[i]).value();
    const std::vector<std::uint64_t> sizes =
        format.create_sizer(info.schema, options)->size_with(parts, rows);
    if (rows_a_shard == 0)
      throw sample_too_large(*std::max_element(sizes.begin(), sizes.end()), shard_bytes)
          .for_sample(std::to_string(row), row);
    forecast.file_bytes += all_files_of(sizes, rows, 0, columns);
    forecast.data_bytes += std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    ++forecast.shards;
  }
  return forecast;
}

}  // namespace

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
                              std::uint64_t shard_samples) {
  const SourceInfo& info = source.info();
  const OptionSet options(format.options);
  const ShardLayout layout = format.layout(info.schema, options);
  if (const std::optional<std::uint64_t> rows =
          rows_within({shard_bytes, shard_samples}, format, info.schema, options))
    return forecast_runs(info, format, options, *rows, shard_bytes);
  const IndexColumns columns(info.schema, layout);
  // Rows of arrays are all alike: not one has to be read.
  const auto next = [&](std::uint64_t number) -> std::optional<PendingSample> {
    if (!info.row_bytes) return source.next(1);
    if (number == info.manifest.samples) return std::nullopt;
    return fixed_sample(info, number);
  };
  ShardForecast forecast;
  std::unique_ptr<ShardSizer> sizer;
  std::uint64_t samples = 0, elements = 0, shard_total = 0, shard_data = 0;
  for (std::uint64_t number = 0; const std::optional<PendingSample> pending = next(number);
       ++number) {
    const std::vector<std::uint64_t> parts =
        forecast_parts(*pending, info, format, options, layout);
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
