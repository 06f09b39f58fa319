#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "shale/encoding/forecast.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/encoding/sample_transformer.hpp"
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

// Of the record of a sample, what its values do not take.
std::uint64_t frame_bytes(const PendingSample& pending, const Format& format, const Schema& schema,
                          const OptionSet& options) {
  Sample hollow;
  hollow.key = pending.key;
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const IndexCell& cell = pending.cells[i];
    const Kind kind = schema.fields[i].kind;
    hollow.values.push_back(kind == Kind::integer ? Value(cell.integer)
                            : kind == Kind::real  ? Value(cell.real)
                            : kind == Kind::list  ? Value(std::vector<Bytes>(cell.place.count))
                                                  : Value(Bytes()));
  }
  std::uint64_t sum = 0;
  for (const Blob& part : format.encode(hollow, schema, options).parts) sum += part.size();
  return sum;
}

std::uint64_t divided_up(std::uint64_t number, std::uint64_t by) {
  return number / by + (number % by == 0 ? 0 : 1);
}

}  // namespace

ShardForecast forecast_transformed(Source& source, const Format& format, std::uint64_t shard_bytes,
                                   std::uint64_t shard_samples, std::uint64_t memory_bytes) {
  const SourceInfo& info = source.info();
  const Transform& transform = *info.transform;
  const OptionSet options(format.options);
  const IndexColumns columns(info.schema, format.layout(info.schema, options));
  const std::uint64_t step = std::max<std::uint64_t>(1, info.manifest.samples / kMeasured);
  const std::optional<std::uint64_t> fixed = transform.fixed_bytes();
  Measurement measurement(info, memory_bytes);
  std::uint64_t samples = 0, elements = 0, others = 0, worked_on = 0;
  while (std::optional<PendingSample> pending = source.next(1)) {
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
  ShardForecast forecast;
  forecast.data_bytes = others + (fixed ? samples * *fixed : measurement.results_of(worked_on));
  if (!fixed) forecast.measured = measurement.samples();
  forecast.shards =
      std::max(divided_up(samples, std::max<std::uint64_t>(1, shard_samples)),
               divided_up(forecast.data_bytes, std::max<std::uint64_t>(1, shard_bytes)));
  const std::vector<std::uint64_t> sizes = {forecast.data_bytes};
  forecast.file_bytes = all_files_of(sizes, samples, elements, columns);
  return forecast;
}

}  // namespace shale
