#include "formats/safetensors/safetensors_format.hpp"

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/wire/safetensors_header.hpp"

#include "formats/safetensors/safetensors_scan.hpp"
#include "formats/safetensors/safetensors_writer.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".safetensors"};
constexpr Kind kKinds[] = {Kind::integer, Kind::real, Kind::tensor};

// Its length, which fits the file, and an opening brace with a name.
int bid_for_safetensors(const Probe& probe) {
  return is_safetensors(probe.head, probe.file_bytes) ? 40 : 0;
}

bool is_of_safetensors(const TensorType& type) { return !type.safetensors.empty(); }

ShardLayout safetensors_layout(const Schema& schema, const OptionSet&) {
  return tensor_layout(schema, "a safetensors", kSuffixes[0], is_of_safetensors);
}

Record encode_safetensors(const Sample& sample, const Schema& schema, const OptionSet&) {
  return encode_fixed_row(sample, schema);
}

std::unique_ptr<ShardSizer> create_safetensors_sizer(const Schema& schema,
                                                     const OptionSet& options) {
  std::vector<std::uint64_t> headers;
  for (const Field& field : schema.fields)
    headers.push_back(safetensors_column_header(field, 0).size());
  const std::vector<std::uint64_t> a_sample(headers.size());
  return make_sum_sizer(safetensors_layout(schema, options), headers, a_sample);
}

}  // namespace

const Format safetensors_format = {
    .name = "safetensors",
    .summary = "safetensors files, one per field",
    .suffixes = kSuffixes,
    .options = {},
    .reserved_fields = {},
    .can = {.kinds = kKinds},
    .bid = bid_for_safetensors,
    .layout = safetensors_layout,
    .encode = encode_safetensors,
    .create_sizer = create_safetensors_sizer,
    .create_shard = create_safetensors_shard,
    .survey = survey_safetensors,
    .scan = scan_safetensors_shard,
    .walk_list = nullptr,
    .split_list = nullptr,  // it holds no lists
    .takes_unread = [](const OptionSet&) { return true; },
    .write_native_index = nullptr,
};

}  // namespace shale
