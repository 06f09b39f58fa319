#include "formats/npy/npy_format.hpp"

#include <numeric>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

#include "formats/npy/npy_layout.hpp"
#include "formats/npy/npy_scan.hpp"
#include "formats/npy/npy_survey.hpp"
#include "formats/npy/npy_writer.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".npy"};
constexpr Kind kKinds[] = {Kind::integer, Kind::real, Kind::tensor};
// Of the field in "shard-0000000000.<field>.npy": a file name has 255 bytes.
constexpr std::size_t kMostNameBytes = 200;
// NumPy has 64 (NPY_MAXDIMS of NumPy 2), and the first one counts the samples.
constexpr std::size_t kMostAxes = 63;

int bid_for_npy(const Probe& probe) {
  return as_text(probe.head).starts_with("\x93NUMPY") ? 48 : 0;
}

Record encode_npy(const Sample& sample, const Schema& schema, const OptionSet&) {
  return encode_fixed_row(sample, schema);
}

}  // namespace

ShardLayout npy_layout(const Schema& schema, const OptionSet&) {
  if (schema.fields.empty()) {
    throw Error(Code::unsupported, "samples have no fields, but an npy shard is one file per field")
        .hint("the 'record' format holds samples of a key alone");
  }
  ShardLayout layout;
  for (const Field& field : schema.fields) {
    if (field.name.size() > kMostNameBytes) {
      throw Error(
          Code::unsupported,
          "field '{}' has a name of {} bytes; a file of an npy shard is named by at most {}",
          printable(field.name), field.name.size(), kMostNameBytes);
    }
    if (field.shape.size() > kMostAxes) {
      throw Error(Code::unsupported,
                  "field '{}' has {} axes; an npy array of samples has at most {}",
                  printable(field.name), field.shape.size(), kMostAxes);
    }
    layout.file_suffixes.push_back(fmt::format(".{}.npy", field.name));
  }
  layout.part_file.resize(schema.fields.size());
  std::iota(layout.part_file.begin(), layout.part_file.end(), std::uint32_t{0});
  layout.field_part = layout.part_file;
  layout.has_keys = false;
  layout.rows = RowStorage::columns();
  return layout;
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
    .split_list = nullptr,  // it holds no lists
    .write_native_index = nullptr,
};

}  // namespace shale
