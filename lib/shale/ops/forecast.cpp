#include "shale/ops/forecast.hpp"

#include <algorithm>
#include <numeric>

#include "shale/base/error.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {
namespace {

// What the parts of a record take: those of the same sample with empty values, and the values.
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
      hollow.values.push_back(kind == Kind::list ? Value(std::vector<Bytes>()) : Value(Bytes()));
      payload[layout.field_part[i]] += cell.place.length;
    }
  }
  const Record record = format.encode(hollow, info.schema, options);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] += record.parts[i].size();
  return payload;
}

}  // namespace

ShardForecast forecast_shards(Source& source, const Format& format, std::uint64_t shard_bytes,
                              std::uint64_t shard_samples) {
  const SourceInfo& info = source.info();
  const OptionSet options(format.options);
  const ShardLayout layout = format.layout(info.schema, options);
  const IndexColumns columns(info.schema, layout);
  ShardForecast forecast;
  std::unique_ptr<ShardSizer> sizer;
  std::uint64_t samples = 0, shard_total = 0;
  for (std::uint64_t number = 0; const std::optional<PendingSample> pending = source.next(1);
       ++number) {
    const std::vector<std::uint64_t> parts =
        forecast_parts(*pending, info, format, options, layout);
    for (bool is_new = !sizer;; is_new = true) {
      if (is_new) {
        sizer = format.create_sizer(info.schema, options);
        samples = 0;
      }
      const std::vector<std::uint64_t> sizes = sizer->size_with(parts);
      const std::uint64_t largest =
          std::max(*std::max_element(sizes.begin(), sizes.end()), columns.file_bytes(samples + 1));
      const bool fits = largest <= shard_bytes && samples < shard_samples;
      if (!fits && is_new) {
        throw Error(Code::limit,
                    "a shard with this sample alone would be {} bytes, --shard-size is {}", largest,
                    shard_bytes)
            .for_sample(pending->key, number)
            .hint(fmt::format("pass --shard-size {} or more", largest));
      }
      if (!fits) {
        forecast.file_bytes += shard_total;
        continue;
      }
      forecast.shards += is_new ? 1 : 0;
      shard_total = std::accumulate(sizes.begin(), sizes.end(), columns.file_bytes(samples + 1));
      break;
    }
    sizer->add(parts);
    ++samples;
  }
  forecast.file_bytes += shard_total;
  return forecast;
}

}  // namespace shale
