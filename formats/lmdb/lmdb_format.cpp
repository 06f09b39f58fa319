#include "formats/lmdb/lmdb_format.hpp"

#include "shale/base/error.hpp"
#include "shale/wire/msgpack_sample.hpp"

#include "formats/lmdb/lmdb_cursor.hpp"
#include "formats/lmdb/lmdb_layout_writer.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_reader.hpp"
#include "formats/lmdb/lmdb_recognize.hpp"
#include "formats/lmdb/lmdb_scan.hpp"
#include "formats/lmdb/lmdb_shape.hpp"
#include "formats/lmdb/lmdb_writer.hpp"
#include "formats/lmdb/lmdb_written_layouts.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".lmdb"};
constexpr std::string_view kMoreSuffixes[] = {".mdb"};  // data.mdb, of those that are directories
constexpr Kind kKinds[] = {Kind::bytes, Kind::text,   Kind::integer,
                           Kind::real,  Kind::tensor, Kind::list};
constexpr Dialect kDialects[] = {Dialect::msgpack,    Dialect::coclr,  Dialect::lyken_old,
                                 Dialect::caffe,      Dialect::xunge,  Dialect::thecml,
                                 Dialect::tensorpack, Dialect::pickle, Dialect::lsun};
constexpr std::uint64_t kKeyBytes = 8;  // "00000042"

// Meta page 0 is at the beginning, whatever the page size. Its relatives are recognised too, so
// that the scan can refuse them by name: another version, 32-bit programs and LMDB 1.0 (a shorter
// and a longer page header), big-endian machines.
int bid_for_lmdb(const Probe& probe) {
  constexpr std::uint64_t k32BitHeader = 12, kVersionOneHeader = 24;
  constexpr std::uint32_t kSwappedMagic = 0xDEC0EFBE;
  const auto number_at = [&](std::uint64_t offset) {
    return offset + 4 > probe.head.size() ? 0 : ByteReader(probe.head.subspan(offset)).read_u32();
  };
  const std::uint32_t found = number_at(lmdb::kPageHeaderBytes);
  if (found == lmdb::kMagic) {
    return number_at(lmdb::kPageHeaderBytes + 4) == lmdb::kVersion ? 64 : 32;
  }
  const bool is_relative = found == kSwappedMagic || number_at(k32BitHeader) == lmdb::kMagic ||
                           number_at(kVersionOneHeader) == lmdb::kMagic;
  return is_relative ? 32 : 0;
}

constexpr OptionSpec kOptions[] = {
    {.name = kLayoutOption,
     .summary =
         "what readers of other programs want: coclr, xunge or caffe (one file only), lsun (a file "
         "per class)",
     .default_value = kOwnLayout}};

ShardLayout lmdb_layout(const Schema& schema, const OptionSet& options) {
  if (const std::string_view name = options.text(kLayoutOption); name != kOwnLayout)
    check_fits_layout(name, schema);
  ShardLayout layout;
  layout.file_suffixes = {std::string(kSuffixes[0])};
  layout.part_file = {0};
  layout.field_part.assign(schema.fields.size(), 0);
  layout.has_keys = true;
  layout.has_whole_records = true;
  layout.has_elements = schema.has_lists();
  return layout;
}

Record encode_lmdb(const Sample& sample, const Schema& schema, const OptionSet& options) {
  if (const std::string_view name = options.text(kLayoutOption); name != kOwnLayout)
    return encode_layout_value(name, sample, schema);
  MsgpackSample encoded = encode_msgpack_sample(sample, schema);
  if (encoded.map.size() > lmdb::kMaxValueBytes) {
    throw Error(Code::limit, "encoded sample of {} bytes; an LMDB value holds at most {}",
                encoded.map.size(), lmdb::kMaxValueBytes)
        .for_sample(sample.key)
        .hint("choose a format without this limit, such as --to hdf5, or leave the sample out");
  }
  Record record;
  record.key = sample.key;
  record.parts.push_back(std::move(encoded.map));
  record.row = std::move(encoded.row);
  return record;
}

class LmdbSizer final : public ShardSizer {
 public:
  [[nodiscard]] std::vector<std::uint64_t> size_with(std::span<const std::uint64_t> part_bytes,
                                                     std::uint64_t) const override {
    // Far above any --shard-size: a new shard begins.
    constexpr std::uint64_t kNeverFits = std::uint64_t{1} << 62;
    if (samples_ == kMaxLmdbSamples) return {kNeverFits};
    lmdb::LmdbShape shape = shape_;
    shape.add(kKeyBytes, part_bytes[0]);
    return {shape.closed().file_bytes()};
  }

  void add(std::span<const std::uint64_t> part_bytes, std::uint64_t) override {
    shape_.add(kKeyBytes, part_bytes[0]);
    ++samples_;
  }

 private:
  lmdb::LmdbShape shape_;
  std::uint64_t samples_ = 0;
};

std::unique_ptr<ShardWriter> create_lmdb_file(std::span<OutputFile> files, const Schema& schema,
                                              const OptionSet& options) {
  const std::string_view name = options.text(kLayoutOption);
  return name == kOwnLayout ? create_lmdb_shard(files, schema, options)
                            : create_layout_file(name, files[0]);
}

std::unique_ptr<ShardSizer> create_lmdb_sizer(const Schema&, const OptionSet&) {
  return std::make_unique<LmdbSizer>();
}

}  // namespace

const Format lmdb_format = {
    .name = "lmdb",
    .summary = "LMDB: msgpack maps under 8-digit keys, in one file",
    .suffixes = kSuffixes,
    .options = kOptions,
    .reserved_fields = {},
    .can = {.kinds = kKinds, .places_ascend = false, .largest_record = lmdb::kMaxValueBytes},
    .more_suffixes = kMoreSuffixes,
    .a_file = "an LMDB file",
    .dialects = kDialects,
    .look_at_file =
        "python3 -c 'import lmdb; print(lmdb.open(\"{}\", subdir=False, "
        "readonly=True, lock=False).stat())'",
    .bid = bid_for_lmdb,
    .layout = lmdb_layout,
    .encode = encode_lmdb,
    .create_sizer = create_lmdb_sizer,
    .create_shard = create_lmdb_file,
    .recognize = recognize_own_lmdb,
    .survey = survey_lmdb_file,
    .scan = scan_lmdb_shard,
    .split_scan = split_lmdb_scan,
    .scan_by_library = scan_lmdb_by_library,
    .open_map = open_lmdb_map,
    .walk_list = walk_msgpack_list,
    .split_list = split_msgpack_list,
    .takes_unread =
        [](const OptionSet& options) { return options.text(kLayoutOption) == kOwnLayout; },
    .layouts = lmdb::kWrittenLayouts,
    .write_native_index = nullptr,
    .reader = kLmdbReader,
};

}  // namespace shale
