#include "formats/parquet/parquet_format.hpp"

#include <numeric>

#include "shale/format/file_contents.hpp"
#include "shale/parquet/parquet_footer.hpp"

#include "formats/parquet/parquet_foreign.hpp"
#include "formats/parquet/parquet_own_scan.hpp"
#include "formats/parquet/parquet_plan.hpp"
#include "formats/parquet/parquet_writer.hpp"

namespace shale {
namespace {

constexpr std::string_view kParquetSuffixes[] = {".parquet"};
constexpr OptionSpec kParquetOptions[] = {{kRowGroupOption, "100MB"}};
constexpr Kind kParquetKinds[] = {Kind::bytes, Kind::text,   Kind::integer,
                                  Kind::real,  Kind::tensor, Kind::list};
// A row group holds at least a row, and readers do not take one of 2 GiB.
constexpr std::uint64_t kLargestRow = (std::uint64_t{2} << 30) - (std::uint64_t{16} << 20);

constexpr ReaderCode kParquetReader = {.library = "pyarrow", .code = R"(import pyarrow.parquet as pq

row = pq.ParquetFile({{file}}).read_row_group(0).slice(0, 1).to_pylist()[0]
)"};

int bid_for_parquet(const Probe& probe) {
  return as_text(probe.head).starts_with(kParquetMagic) ? 32 : 0;
}

ShardLayout parquet_layout(const Schema& schema, const OptionSet& options) {
  const ParquetPlan plan = plan_parquet(schema, row_group_bytes_of(options));  // or refuses
  ShardLayout layout;
  layout.file_suffixes = {std::string(kParquetSuffixes[0])};
  layout.part_file.assign(plan.parts, 0);
  layout.field_part.resize(schema.fields.size());
  std::iota(layout.field_part.begin(), layout.field_part.end(), 1U);
  layout.has_keys = schema.has_keys;
  layout.has_elements = schema.has_lists();
  return layout;
}

void scan_parquet_shard(const ShardInput& input, const OptionSet&, const RowSink& rows,
                        const FindingSink& findings) {
  const bool is_own = input.layout.dialect == Dialect::own;
  (is_own ? scan_own_parquet : scan_foreign_parquet)(input, rows, findings);
}

}  // namespace

const Format parquet_format = {
    .name = "parquet",
    .summary = "Parquet files that `datasets` reads, media in place",
    .suffixes = kParquetSuffixes,
    .options = kParquetOptions,
    .reserved_fields = {},
    .can = {.kinds = kParquetKinds,
            .self_checksummed = true,
            .holds_ragged = true,
            .holds_optional = true,
            .largest_record = kLargestRow},
    .a_file = "a Parquet file",
    .bid = bid_for_parquet,
    .layout = parquet_layout,
    .encode = encode_parquet,
    .create_sizer = create_parquet_sizer,
    .create_shard = create_parquet_shard,
    .recognize = recognize_own_parquet,
    .survey = survey_parquet,
    .salvage = salvage_parquet,
    .survey_packed = survey_packed_parquet,
    .unpack = unpack_parquet,
    .list_columns = list_parquet_columns,
    .scan = scan_parquet_shard,
    .walk_list = walk_parquet_list,
    .split_list = split_parquet_list,
    .takes_unread = [](const OptionSet&) { return true; },
    .reader = kParquetReader,
    .classes = &parquet_class_place,
    .readme_fields = parquet_readme_fields,
};

}  // namespace shale
