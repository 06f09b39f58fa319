#include "formats/record/record_format.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/wire/tf_example.hpp"

#include "formats/record/record_features.hpp"
#include "formats/record/record_frames.hpp"
#include "formats/record/record_scan.hpp"
#include "formats/record/record_writer.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".tfrecord"}, kAliases[] = {"tfrecord"};
constexpr Kind kKinds[] = {Kind::bytes, Kind::text,   Kind::integer,
                           Kind::real,  Kind::tensor, Kind::list};
constexpr Dialect kDialects[] = {Dialect::episodes};
constexpr std::size_t kMaxAxes = 64;  // NumPy's limit, and what the scan compares

// Features may be missing from some records: so they are not named beforehand. Of records of
// another kind, shale makes one field of bytes.
constexpr ReaderCode kRecordReader = {
    .library = "tfrecord", .code = R"({{#has_features}}from tfrecord.reader import tfrecord_loader

for sample in tfrecord_loader({{file}}, None):
    break
{{/has_features}}{{^has_features}}from tfrecord.reader import tfrecord_iterator

for value in tfrecord_iterator({{file}}):
    break
{{/has_features}})"};

// The format has no magic: its evidence is the checksum of the first frame's length. A compressed
// file has it inside, and is recognised so that survey() can refuse it by name. Of a file that is
// damaged there, only its name can say what it is.
int bid_for_record(const Probe& probe) {
  // A file of no records has no bytes: only its name can say what it is.
  if (probe.file_bytes == 0 && probe.path.ends_with(kSuffixes[0])) return 1;
  if (probe.head.size() < kFrameHeaderBytes || probe.file_bytes < kFrameBytes) return 0;
  if (compression_of_frames(probe.head)) return 32;
  if (probe.file_bytes == probe.head.size() && is_gzip_of_nothing(probe.head))
    return probe.path.find(kSuffixes[0]) != std::string_view::npos ? 1 : 0;
  const FrameHeader header = read_frame_header(probe.head.first<kFrameHeaderBytes>());
  if (!header.is_trusted()) return probe.path.ends_with(kSuffixes[0]) ? 1 : 0;
  constexpr std::byte kFeaturesTag{0x0a};
  const bool begins_like_example =
      probe.head.size() > kFrameHeaderBytes && probe.head[kFrameHeaderBytes] == kFeaturesTag;
  return begins_like_example ? 40 : 32;
}

ShardLayout record_layout(const Schema& schema, const OptionSet&) {
  for (const Field& field : schema.fields) {
    if (field.shape.size() <= kMaxAxes) continue;
    throw Error(Code::unsupported,
                "field '{}' is a tensor of {} axes; the record format holds at most {}",
                printable(field.name), field.shape.size(), kMaxAxes);
  }
  const std::vector<PlannedFeature> plan = plan_features(schema);
  const auto twice = std::ranges::adjacent_find(plan, {}, &PlannedFeature::name);
  if (twice != plan.end()) {
    throw Error(Code::schema,
                "field name '{}' is that of a feature which the record format writes for a tensor",
                printable(twice->name))
        .hint("choose another name: --rename");
  }
  std::uint64_t names_bytes = 0;
  for (const PlannedFeature& planned : plan) names_bytes += planned.name.size();
  if (plan.size() > kMaxFeatures || names_bytes > kMaxFeatureNamesBytes) {
    throw Error(Code::unsupported,
                "{} features with names of {} bytes; the record format holds at most {} and {}",
                plan.size(), names_bytes, kMaxFeatures, kMaxFeatureNamesBytes);
  }
  ShardLayout layout;
  layout.file_suffixes = {std::string(kSuffixes[0])};
  layout.part_file = {0};
  layout.field_part.assign(schema.fields.size(), 0);
  layout.has_keys = true;
  layout.has_whole_records = true;
  layout.has_elements = schema.has_lists();
  return layout;
}

std::unique_ptr<ShardSizer> create_record_sizer(const Schema& schema, const OptionSet& options) {
  return make_sum_sizer(record_layout(schema, options), {0}, {0});
}

}  // namespace

const Format record_format = {
    .name = "record",
    .summary = "TFRecord frames around tf.train.Example",
    .suffixes = kSuffixes,
    .options = {},
    .reserved_fields = {},
    .can = {.kinds = kKinds,
            .self_checksummed = true,
            .holds_ragged = true,
            .holds_optional = true,
            .holds_slashes = true,
            .keeps_dtypes = false,
            .largest_record = kMaxExampleBytes + kFrameBytes},
    .aliases = kAliases,
    .a_file = "a TFRecord file",
    .dialects = kDialects,
    .bid = bid_for_record,
    .layout = record_layout,
    .encode = encode_record,
    .create_sizer = create_record_sizer,
    .create_shard = create_record_shard,
    .survey = survey_record_file,
    .salvage = salvage_record_file,
    .unpack = unpack_record_file,
    .scan = scan_record_shard,
    .split_scan = split_record_scan,
    .walk_list = walk_record_list,
    .split_list = split_record_list,
    .takes_unread = [](const OptionSet&) { return true; },
    .reader = kRecordReader,
};

}  // namespace shale
