#include "formats/record/record_writer.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/appended_shard.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_features.hpp"
#include "formats/record/record_frames.hpp"

namespace shale {
namespace {

using Role = PlannedFeature::Role;
using Integers = std::span<const std::int64_t>;

// Of a record with one value that is not copied, and few fields.
constexpr std::size_t kUsualPieces = 4, kUsualCopies = 256;

// A shape's sides as the integers that an Int64List holds: the same 64 bits.
Integers as_integers(std::span<const std::uint64_t> shape) {
  return {reinterpret_cast<const std::int64_t*>(shape.data()), shape.size()};
}

// Reals of 32 bits lie in `floats`, one per field.
Feature value_feature(std::string_view name, const Value& value, const Field& field,
                      std::span<std::byte> floats) {
  switch (field.kind) {
    case Kind::integer:
      return {.name = name, .value = Integers(&std::get<std::int64_t>(value), 1)};
    case Kind::real:
      if (is_of_floats(field)) {
        write_number(value, field, floats);
        return {.name = name, .value = PackedFloats{Bytes(floats)}, .is_copied = true};
      }
      return {.name = name, .value = bytes_of(std::get<double>(value)), .is_copied = true};
    case Kind::list:
      if (const auto* unread = std::get_if<std::vector<Unread>>(&value))
        return {.name = name, .value = std::span<const Unread>(*unread)};
      return {.name = name, .value = std::span<const Bytes>(std::get<std::vector<Bytes>>(value))};
    case Kind::bytes:
    case Kind::text:
    case Kind::tensor:
      break;
  }
  if (is_of_floats(field)) return {.name = name, .value = PackedFloats{run_of(value)}};
  if (const Unread* unread = std::get_if<Unread>(&value)) return {.name = name, .value = *unread};
  return {.name = name, .value = std::get<Bytes>(value)};
}

// The plan for these fields, which are nearly always those of the sample before.
const std::vector<PlannedFeature>& plan_of(const Schema& schema) {
  static thread_local std::vector<Field> fields;
  static thread_local std::vector<PlannedFeature> plan;
  if (plan.empty() || fields != schema.fields) {
    fields = schema.fields;
    plan = plan_features(schema);
  }
  return plan;
}

// The features of one sample after the other, in memory that serves the next.
class SampleFeatures {
 public:
  // Only payload is borrowed: the key and the numbers live in the sample, which may be gone before
  // the record.
  void take(const std::vector<PlannedFeature>& plan, const Sample& sample, const Schema& schema) {
    shapes_.clear();
    floats_.clear();
    features_.clear();
    planned_.clear();
    if (schema.has_ragged()) {
      ShapeWalk walk(sample.sides);
      for (const Field& field : schema.fields) shapes_.push_back(walk.next(field));
    }
    if (std::ranges::any_of(schema.fields, is_of_floats))
      floats_.resize(sizeof(float) * schema.fields.size());
    for (const PlannedFeature& planned : plan) {
      const bool is_absent = planned.role != Role::key &&
                             std::holds_alternative<std::monostate>(sample.values[planned.field]);
      if (is_absent) continue;
      features_.push_back(feature_of(planned, sample, schema));
      planned_.push_back(&planned);
    }
  }

  [[nodiscard]] std::span<const Feature> features() const { return features_; }
  // What each of them stands for.
  [[nodiscard]] const PlannedFeature& planned(std::size_t feature) const {
    return *planned_[feature];
  }

 private:
  Feature feature_of(const PlannedFeature& planned, const Sample& sample, const Schema& schema) {
    if (planned.role == Role::key)
      return {.name = planned.name, .value = as_bytes(sample.key), .is_copied = true};
    const Field& field = schema.fields[planned.field];
    if (planned.role == Role::dtype)
      return {.name = planned.name, .value = as_bytes(field.dtype.descr()), .is_copied = true};
    if (planned.role == Role::shape) {
      const std::span<const std::uint64_t> shape =
          field.is_ragged() ? shapes_[planned.field] : std::span(field.shape);
      return {.name = planned.name, .value = as_integers(shape)};
    }
    const auto floats =
        floats_.empty() ? std::span<std::byte>()
                        : std::span(floats_).subspan(sizeof(float) * planned.field, sizeof(float));
    return value_feature(planned.name, sample.values[planned.field], field, floats);
  }

  std::vector<std::span<const std::uint64_t>> shapes_;  // only if a field is ragged
  std::vector<std::byte> floats_;
  std::vector<Feature> features_;
  std::vector<const PlannedFeature*> planned_;
};

void check_limits(const Sample& sample, std::uint64_t payload) {
  if (sample.key.size() > kMaxKeyBytes) {
    throw Error(Code::limit, "key of {} bytes; the record format holds at most {}",
                sample.key.size(), kMaxKeyBytes)
        .for_sample(sample.key.substr(0, 64) + "...");
  }
  if (payload > kMaxExampleBytes) {
    throw Error(Code::limit, "tf.train.Example of {} bytes; protobuf holds at most {}", payload,
                kMaxExampleBytes)
        .for_sample(sample.key)
        .hint("choose a format without this limit, such as --to hdf5, or leave the sample out");
  }
}

void fill_cell(const Value& value, Kind kind, const FieldPlace& place, IndexCell& cell) {
  if (kind == Kind::integer) cell.integer = std::get<std::int64_t>(value);
  if (kind == Kind::real) cell.real = std::get<double>(value);
  if (is_located(kind)) cell.place = place;
  if (kind != Kind::list) cell.place.count = 0;
}

}  // namespace

Record encode_record(const Sample& sample, const Schema& schema, const OptionSet&) {
  static thread_local SampleFeatures of_sample;
  static thread_local std::vector<FieldPlace> places;
  of_sample.take(plan_of(schema), sample, schema);
  const std::span<const Feature> features = of_sample.features();
  const std::uint64_t payload = example_bytes(features);
  check_limits(sample, payload);

  Record record;
  record.key = sample.key;
  Blob& frame = record.parts.emplace_back();
  frame.reserve(kUsualPieces, kFrameHeaderBytes + kFrameTrailerBytes +
                                  std::min<std::uint64_t>(payload, kUsualCopies));
  frame.append_copy(frame_header(payload));
  places = append_example(features, frame, std::move(places));
  for (FieldPlace& place : places) place.offset += kFrameHeaderBytes;

  PayloadChecksum checksum(places, kFrameHeaderBytes);
  std::uint64_t skipped =
      kFrameHeaderBytes;  // the header was copied first, so the first piece holds all of it
  frame.for_each_part([&](const AnyBytes& part) {
    if (part.unread() != nullptr) return checksum.update(part.size(), part.crc32c());
    checksum.update(part.held().subspan(std::exchange(skipped, 0)));
  });
  frame.append_copy(bytes_of(mask_crc(checksum.total())));

  IndexRow& row = record.row;
  row.key_hash = xxh3_64(as_bytes(sample.key));
  row.record_offset = 0;
  row.record_length = frame.size();
  row.sides = sample.sides;
  row.cells.resize(schema.fields.size());
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    row.cells[i].lacks_number = !is_located(schema.fields[i].kind) &&
                                std::holds_alternative<std::monostate>(sample.values[i]);
  }
  for (std::size_t i = 0; i < features.size(); ++i) {
    const PlannedFeature& planned = of_sample.planned(i);
    if (planned.role == Role::key) {
      row.key = places[i];
      row.key.count = 0;
    } else if (planned.role == Role::value) {
      fill_cell(sample.values[planned.field], schema.fields[planned.field].kind, places[i],
                row.cells[planned.field]);
    }
  }
  return record;
}

std::unique_ptr<ShardWriter> create_record_shard(std::span<OutputFile> files, const Schema&,
                                                 const OptionSet&) {
  return create_appended_shard(files[0]);
}

}  // namespace shale
