#include "formats/npy/npy_format.hpp"

#include "shale/format/column_files.hpp"

#include "formats/npy/npy_layout.hpp"
#include "formats/npy/npy_scan.hpp"
#include "formats/npy/npy_survey.hpp"
#include "formats/npy/npy_writer.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".npy"};
constexpr Kind kKinds[] = {Kind::integer, Kind::real, Kind::tensor};
int bid_for_npy(const Probe& probe) {
  return as_text(probe.head).starts_with("\x93NUMPY") ? 48 : 0;
}

Record encode_npy(const Sample& sample, const Schema& schema, const OptionSet&) {
  return encode_fixed_row(sample, schema);
}

}  // namespace

ShardLayout npy_layout(const Schema& schema, const OptionSet&) {
  return column_files_layout(schema, "an npy", kSuffixes[0]);
}

const Format npy_format = {
    .name = "npy",
    .summary = "plain .npy arrays, one file per field",
    .suffixes = kSuffixes,
    .options = {},
    .reserved_fields = {},
    .can = {.kinds = kKinds},
    .bid = bid_for_npy,
    .layout = npy_layout,
    .encode = encode_npy,
    .create_sizer = create_npy_sizer,
    .create_shard = create_npy_shard,
    .survey = survey_npy,
    .scan = scan_npy_shard,
    .walk_list = nullptr,
    .split_list = nullptr,  // it holds no lists
    .takes_unread = [](const OptionSet&) { return true; },
    .write_native_index = nullptr,
};

}  // namespace shale
