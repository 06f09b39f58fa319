#include "formats/record/record_writer.hpp"

#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_features.hpp"
#include "formats/record/record_frames.hpp"

namespace shale {
namespace {

using Role = PlannedFeature::Role;
using Integers = std::span<const std::int64_t>;

// A shape's sides as the integers that an Int64List holds: the same 64 bits.
Integers as_integers(const std::vector<std::uint64_t>& shape) {
  return {reinterpret_cast<const std::int64_t*>(shape.data()), shape.size()};
}

Feature value_feature(std::string_view name, const Value& value, Kind kind) {
  switch (kind) {
    case Kind::integer:
      return {.name = name, .value = Integers(&std::get<std::int64_t>(value), 1)};
    case Kind::real:
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
  if (const Unread* unread = std::get_if<Unread>(&value)) return {.name = name, .value = *unread};
  return {.name = name, .value = std::get<Bytes>(value)};
}

// Only payload is borrowed: the key and the numbers live in the sample, which may be gone before
// the record.
Feature feature_of(const PlannedFeature& planned, const Sample& sample, const Schema& schema) {
  if (planned.role == Role::key) {
    return {.name = planned.name, .value = as_bytes(sample.key), .is_copied = true};
  }
  const Field& field = schema.fields[planned.field];
  if (planned.role == Role::dtype) {
    return {.name = planned.name, .value = as_bytes(field.dtype.descr()), .is_copied = true};
  }
  if (planned.role == Role::shape) return {.name = planned.name, .value = as_integers(field.shape)};
  return value_feature(planned.name, sample.values[planned.field], field.kind);
}

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

class RecordShardWriter final : public ShardWriter {
 public:
  explicit RecordShardWriter(OutputFile& file) : file_(file) {}

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_)
      throw Error(Code::bug, "record appended to a closed tfrecord shard").at(file_.path());
    offset_ = file_.size();
    record.parts.front().for_each_piece([&](Bytes piece) { file_.append(piece); });
    return {&offset_, 1};
  }

  ClosedShard close() override {
    is_closed_ = true;  // a shard is its frames: nothing is left to write
    return {};
  }

 private:
  OutputFile& file_;
  std::uint64_t offset_ = 0;
  bool is_closed_ = false;
};

}  // namespace

Record encode_record(const Sample& sample, const Schema& schema, const OptionSet&) {
  const std::vector<PlannedFeature> plan = plan_features(schema);
  std::vector<Feature> features;
  features.reserve(plan.size());
  for (const PlannedFeature& planned : plan)
    features.push_back(feature_of(planned, sample, schema));
  const std::uint64_t payload = example_bytes(features);
  check_limits(sample, payload);

  Record record;
  record.key = sample.key;
  Blob& frame = record.parts.emplace_back();
  frame.append_copy(frame_header(payload));
  std::vector<FieldPlace> places = append_example(features, frame);
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
  row.cells.resize(schema.fields.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].role == Role::key) {
      row.key = places[i];
      row.key.count = 0;
    } else if (plan[i].role == Role::value) {
      const Kind kind = schema.fields[plan[i].field].kind;
      const Value& value = sample.values[plan[i].field];
      IndexCell& cell = row.cells[plan[i].field];
      if (kind == Kind::integer) cell.integer = std::get<std::int64_t>(value);
      if (kind == Kind::real) cell.real = std::get<double>(value);
      if (is_located(kind)) cell.place = places[i];
      if (kind != Kind::list) cell.place.count = 0;
    }
  }
  return record;
}

std::unique_ptr<ShardWriter> create_record_shard(std::span<OutputFile> files, const Schema&,
                                                 const OptionSet&) {
  return std::make_unique<RecordShardWriter>(files[0]);
}

}  // namespace shale
