#include "formats/hdf5/hdf5_format.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/columns/own_records.hpp"
#include "shale/format/layout.hpp"
#include "shale/format/name_list.hpp"
#include "shale/trees/hdf5_metadata.hpp"

#include "formats/hdf5/foreign/hdf5_foreign.hpp"
#include "formats/hdf5/foreign/hdf5_unpack.hpp"
#include "formats/hdf5/hdf5_class_names.hpp"
#include "formats/hdf5/hdf5_columns.hpp"
#include "formats/hdf5/hdf5_directory.hpp"
#include "formats/hdf5/hdf5_layout_writer.hpp"
#include "formats/hdf5/hdf5_own_scan.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".h5"}, kAliases[] = {"h5"}, kMoreSuffixes[] = {".hdf5"};
constexpr OptionSpec kOptions[] = {{.name = kLayoutOption, .default_value = kFlatLayout}};
constexpr std::string_view kSuffixHint = "choose an output that ends in .h5, or in .hdf5";
constexpr Layout kFlatLayoutRow{.name = kFlatLayout,
                                .summary = "one flat dataset and offsets (default)",
                                .option = "",
                                .writes = Layout::Writes::anything,
                                .container = "HDF5",
                                .suffix_hint = kSuffixHint};
constexpr Layout kVlenFile{.name = "vlen",
                           .summary = "one value per image",
                           .option = "vlen",
                           .container = "HDF5",
                           .suffix_hint = kSuffixHint};
constexpr Layout kFixedFile{.name = "fixed",
                            .summary = "(N, H, W, 3) pixels",
                            .option = "fixed",
                            .container = "HDF5",
                            .suffix_hint = kSuffixHint};
constexpr const Layout* kWrittenLayouts[] = {&kFlatLayoutRow, &kVlenFile, &kFixedFile};
constexpr std::string_view kReserved[] = {"key_offset"};
constexpr Dialect kDialects[] = {Dialect::robomimic, Dialect::samples, Dialect::episodes};
constexpr Kind kKinds[] = {Kind::bytes, Kind::text,   Kind::integer,
                           Kind::real,  Kind::tensor, Kind::list};

constexpr ReaderCode kHdf5Reader = {.library = "h5py", .code = R"(import h5py

f = h5py.File({{file}})
{{#is_extent}}begin, end = f[{{field|python:_offset}}][0:2]  # sample 0
value = f[{{field|python}}][begin:end].tobytes()
{{/is_extent}}{{#is_own_ragged}}begin, end = f[{{field|python:_offset}}][0:2]  # sample 0
value = f[{{field|python}}][begin:end]{{#has_sides}}.reshape(f[{{field|python:_shape}}][0]){{/has_sides}}
{{/is_own_ragged}}{{#is_row}}value = f[{{field|python}}][0]
{{/is_row}}{{#is_elsewhere}}f.visititems(print)
{{/is_elsewhere}}{{#own_label}}label = int(f[{{own_label|python}}][0])
{{/own_label}})"};

// A file may begin with something else; its HDF5 then begins at 512 bytes, or at twice as many ...
int bid_for_hdf5(const Probe& probe) {
  const std::string_view head = as_text(probe.head);
  for (std::size_t at = 0; at < head.size(); at = at == 0 ? 512 : 2 * at) {
    if (head.substr(at).starts_with(kHdf5Signature)) return 64;
  }
  return 0;
}

std::optional<std::vector<std::string>> list_hdf5_files(const InputFile& list) {
  constexpr std::string_view kEnds[] = {".h5", ".hdf5"};
  return names_in_list(list, kEnds, "HDF5");
}

ShardLayout hdf5_layout(const Schema& schema, const OptionSet& options) {
  if (const std::string_view name = options.text(kLayoutOption); name != kFlatLayout)
    return image_file_layout(name, schema);
  const Hdf5Plan plan = plan_columns(schema);  // refuses what cannot be held
  ShardLayout layout;
  layout.file_suffixes = {std::string(kSuffixes[0])};
  layout.part_file.assign(plan.parts, 0);
  layout.field_part.resize(schema.fields.size());
  std::iota(layout.field_part.begin(), layout.field_part.end(), plan.has_keys() ? 1U : 0U);
  layout.key_part = 0;
  layout.rows = plan.rows;
  layout.has_keys = plan.has_keys();
  layout.has_elements = schema.has_lists();
  return layout;
}

Record encode_for_layout(const Sample& sample, const Schema& schema, const OptionSet& options) {
  if (options.text(kLayoutOption) != kFlatLayout) return encode_image_and_label(sample, schema);
  return encode_hdf5(sample, schema, options);
}

std::unique_ptr<ShardSizer> create_sizer(const Schema& schema, const OptionSet& options) {
  if (options.text(kLayoutOption) == kFlatLayout) return create_hdf5_sizer(schema, options);
  // Of one file of any size.
  return make_sum_sizer(hdf5_layout(schema, options), {0}, {0});
}

std::unique_ptr<ShardWriter> create_file(std::span<OutputFile> files, const Schema& schema,
                                         const OptionSet& options) {
  const std::string_view name = options.text(kLayoutOption);
  return name == kFlatLayout ? create_hdf5_shard(files, schema, options)
                             : create_image_file(name, files[0]);
}

void scan_hdf5_shard(const ShardInput& input, const OptionSet&, const RowSink& rows,
                     const FindingSink& findings) {
  if (input.layout.dialect == Dialect::own) return scan_own_hdf5(input, rows, findings);
  scan_foreign_hdf5(input, rows, findings);
}

}  // namespace

const Format hdf5_format = {
    .name = "hdf5",
    .summary = "contiguous HDF5 datasets, one per field",
    .suffixes = kSuffixes,
    .options = kOptions,
    .reserved_fields = kReserved,
    .can = {.kinds = kKinds, .holds_ragged = true, .holds_optional = true, .forks = true},
    .aliases = kAliases,
    .more_suffixes = kMoreSuffixes,
    .a_file = "an HDF5 file",
    .dialects = kDialects,
    .bid = bid_for_hdf5,
    .layout = hdf5_layout,
    .encode = encode_for_layout,
    .create_sizer = create_sizer,
    .create_shard = create_file,
    .recognize = recognize_own_hdf5,
    .survey = survey_hdf5_file,
    .list_files = list_hdf5_files,
    .unpack = unpack_hdf5_file,
    .list_contents = list_hdf5_contents,
    .scan = scan_hdf5_shard,
    .split_scan = split_hdf5_scan,
    .scan_by_library = scan_hdf5_by_library,
    .split_list = nullptr,  // elements have no framing
    .takes_unread =
        [](const OptionSet& options) { return options.text(kLayoutOption) == kFlatLayout; },
    .layouts = kWrittenLayouts,
    .reader = kHdf5Reader,
    .classes = &hdf5_class_place,
};

}  // namespace shale
