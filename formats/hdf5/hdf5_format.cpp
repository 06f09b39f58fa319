#include "formats/hdf5/hdf5_format.hpp"

#include <numeric>

#include "shale/format/layout.hpp"

#include "formats/hdf5/hdf5_columns.hpp"
#include "formats/hdf5/hdf5_file_list.hpp"
#include "formats/hdf5/hdf5_foreign.hpp"
#include "formats/hdf5/hdf5_layout_writer.hpp"
#include "formats/hdf5/hdf5_library_scan.hpp"
#include "formats/hdf5/hdf5_metadata.hpp"
#include "formats/hdf5/hdf5_own_scan.hpp"
#include "formats/hdf5/hdf5_reader.hpp"
#include "formats/hdf5/hdf5_unpack.hpp"
#include "formats/hdf5/hdf5_writer.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".h5"}, kAliases[] = {"h5"}, kMoreSuffixes[] = {".hdf5"};
constexpr OptionSpec kOptions[] = {
    {.name = kLayoutOption,
     .summary = "how h5py finds the values: flat, vlen or fixed (the last two: one file only)",
     .default_value = kFlatLayout}};
constexpr std::string_view kSuffixHint = "choose an output that ends in .h5, or in .hdf5";
constexpr Layout kFlatLayoutRow{.name = kFlatLayout,
                                .option = "",
                                .writes = Layout::Writes::anything,
                                .container = "HDF5",
                                .suffix_hint = kSuffixHint};
constexpr Layout kVlenFile{
    .name = "vlen", .option = "vlen", .container = "HDF5", .suffix_hint = kSuffixHint};
constexpr Layout kFixedFile{
    .name = "fixed", .option = "fixed", .container = "HDF5", .suffix_hint = kSuffixHint};
constexpr const Layout* kWrittenLayouts[] = {&kFlatLayoutRow, &kVlenFile, &kFixedFile};
constexpr std::string_view kReserved[] = {"key_offset"};
constexpr Dialect kDialects[] = {Dialect::robomimic};
constexpr Kind kKinds[] = {Kind::bytes, Kind::text,   Kind::integer,
                           Kind::real,  Kind::tensor, Kind::list};

// A file may begin with something else; its HDF5 then begins at 512 bytes, or at twice as many ...
int bid_for_hdf5(const Probe& probe) {
  const std::string_view head = as_text(probe.head);
  for (std::size_t at = 0; at < head.size(); at = at == 0 ? 512 : 2 * at) {
    if (head.substr(at).starts_with(kHdf5Signature)) return 64;
  }
  return 0;
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
    .can = {.kinds = kKinds, .forks = true},
    .aliases = kAliases,
    .more_suffixes = kMoreSuffixes,
    .a_file = "an HDF5 file",
    .dialects = kDialects,
    .bid = bid_for_hdf5,
    .layout = hdf5_layout,
    .encode = encode_for_layout,
    .create_sizer = create_sizer,
    .create_shard = create_file,
    .survey = survey_hdf5_file,
    .list_files = list_hdf5_files,
    .unpack = unpack_hdf5_file,
    .scan = scan_hdf5_shard,
    .split_scan = split_hdf5_scan,
    .scan_by_library = scan_hdf5_by_library,
    .walk_list = nullptr,
    .split_list = nullptr,  // elements have no framing
    .takes_unread =
        [](const OptionSet& options) { return options.text(kLayoutOption) == kFlatLayout; },
    .layouts = kWrittenLayouts,
    .write_native_index = nullptr,
    .reader = kHdf5Reader,
};

}  // namespace shale
