#include "formats/lmdb/lmdb_format.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/data/schema_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/wire/msgpack_map.hpp"
#include "shale/wire/msgpack_sample.hpp"

#include "formats/lmdb/lmdb_cursor.hpp"
#include "formats/lmdb/lmdb_layout_writer.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_scan.hpp"
#include "formats/lmdb/lmdb_shape.hpp"
#include "formats/lmdb/lmdb_unpack.hpp"
#include "formats/lmdb/lmdb_writer.hpp"

namespace shale {
namespace {

constexpr std::string_view kSuffixes[] = {".lmdb"};
constexpr std::string_view kMoreSuffixes[] = {".mdb"};  // data.mdb, of those that are directories
constexpr Kind kKinds[] = {Kind::bytes, Kind::text,   Kind::integer,
                           Kind::real,  Kind::tensor, Kind::list};
constexpr Dialect kDialects[] = {
    Dialect::msgpack, Dialect::pickle, Dialect::coclr,      Dialect::lyken_old, Dialect::caffe,
    Dialect::xunge,   Dialect::thecml, Dialect::tensorpack, Dialect::lsun,      Dialect::keys};
constexpr std::uint64_t kKeyBytes = 8;  // "00000042"

constexpr ReaderCode kLmdbReader = {
    .library = "lmdb", .code = R"(import lmdb{{#has_own_samples}}, msgpack{{/has_own_samples}}

env = lmdb.open({{file}}, subdir={{#is_folder}}True{{/is_folder}}{{^is_folder}}False{{/is_folder}}, readonly=True, lock=False, readahead=False)
{{^has_samples}}print(env.stat())
{{/has_samples}}{{#has_samples}}with env.begin(buffers=True) as txn:
{{#has_own_samples}}    sample = msgpack.unpackb(txn.get(b"00000000"))
value = sample[{{field|python}}]
{{/has_own_samples}}{{^has_own_samples}}    key, value = next(iter(txn.cursor()))
{{/has_own_samples}}{{/has_samples}})"};

// Meta page 0 is at the beginning, whatever the page size. Its relatives are recognised too, so
// that the scan can refuse them by name: another version, 32-bit programs and LMDB 1.0 (a shorter
// and a longer page header), big-endian machines.
int bid_for_lmdb(const Probe& probe) {
  if (lmdb::number_at(probe.head, lmdb::kPageHeaderBytes) == lmdb::kMagic)
    return lmdb::number_at(probe.head, lmdb::kPageHeaderBytes + 4) == lmdb::kVersion ? 64 : 32;
  if (!lmdb::relative_of(probe.head).empty()) return 32;
  // Of a file whose first page is damaged only its name can say what it is.
  const bool is_called_so = probe.path.ends_with(kSuffixes[0]) || probe.path.ends_with("/data.mdb");
  return is_called_so && probe.file_bytes > 2 * lmdb::kPageBytes ? 1 : 0;
}

constexpr std::uint64_t kFirstValueWindow = 8 * 1024;

std::optional<lmdb::MetaPage> meta_of_shale(const InputFile& file) {
  try {
    const lmdb::MetaPage meta = lmdb::read_live_meta(file, [](const Finding&) {});
    const bool may_be = meta.page_bytes == lmdb::kPageBytes && meta.main_tree.flags == 0 &&
                        meta.main_tree.entries > 0 && meta.transaction <= 1;
    return may_be ? std::optional(meta) : std::nullopt;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return std::nullopt;
  }
}

// The schema that the note of a meta page says.
std::optional<Schema> noted_schema(const InputFile& file) {
  const std::optional<std::string> note = lmdb::note_in(file);
  return note ? parse_schema_text(*note) : std::nullopt;
}

class Entries {
 public:
  explicit Entries(const InputFile& file) : file_(file), map_(open_lmdb_map(file)) {}

  // The entry of a row's key. Errors: Code::damaged for pages on the way to it.
  [[nodiscard]] std::optional<KeyMapEntry> find(std::uint64_t row) const {
    const std::string key = fmt::format("{:08}", row);
    return map_->find(as_bytes(key));
  }

  // Errors: any but Code::io for a value that is not shale's.
  [[nodiscard]] Schema schema_at(const std::optional<KeyMapEntry>& entry) const {
    if (!entry || entry->is_database) throw not_ours(0);
    WindowReader window(file_, kFirstValueWindow);
    const ViewBytes view = window.views();
    const std::vector<MsgpackEntry> map =
        parse_msgpack_map(view, entry->value_offset, entry->value_bytes, file_.path());
    if (map.empty() || map[0].name != "key" || map[0].type != MsgpackType::bytes)
      throw not_ours(entry->value_offset);
    Schema schema;
    for (std::size_t i = 1; i < map.size(); ++i) schema.fields.push_back(field_of(view, map[i]));
    return schema;
  }

 private:
  [[nodiscard]] Error not_ours(std::uint64_t offset) const {
    return Error(Code::damaged, "it is not a map of a key and fields").at(file_.path(), offset);
  }

  [[nodiscard]] Field field_of(const ViewBytes& view, const MsgpackEntry& value) const {
    Field field{.name = value.name};
    for (const Kind kind : {Kind::bytes, Kind::text, Kind::integer, Kind::real, Kind::list}) {
      field.kind = kind;
      if (layouts::can_hold(field, value, true)) return field;
    }
    field.elements = Kind::text;
    if (layouts::can_hold(field, value, true)) return field;
    field.elements = Kind::bytes;
    const auto tensor = layouts::read_tensor(view, value, true);
    if (!tensor) throw not_ours(value.value_offset);
    field.kind = Kind::tensor;
    field.dtype = DType::parse(tensor->dtype);
    field.shape = tensor->shape;
    if (tensor->is_ragged) field.shape.assign(field.shape.size(), kFreeSide);
    return field;
  }

  const InputFile& file_;
  std::shared_ptr<const KeyMap> map_;
};

// Format::recognize, by the note that the file has of its schema, or by its first value. Those of
// shale have two meta pages that describe one tree (liblmdb never leaves such), keys 00000000 and
// on, and maps of a key and the same fields; whatever liblmdb wrote to since is a file like any
// other. All else is left to a scan of Dialect::own. Reads a few pages. Errors: Code::damaged if
// the file is shale's, but its first value cannot be read; Code::io.
std::optional<Schema> recognize_own_lmdb(const InputFile& file, const WalkProgress&) {
  const std::optional<lmdb::MetaPage> meta = meta_of_shale(file);
  if (!meta) return std::nullopt;
  std::optional<Entries> entries;
  std::optional<KeyMapEntry> first, last;
  try {
    entries.emplace(file);
    first = entries->find(0);
    last = entries->find(meta->main_tree.entries - 1);
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return std::nullopt;  // of damaged pages the walk tells more
  }
  if (first && last) {
    if (std::optional<Schema> noted = noted_schema(file)) return noted;
  }
  const bool is_ours = lmdb::have_one_tree(file);
  try {
    Schema schema = entries->schema_at(first);
    validate_schema(schema);
    // Without the mark, as one of the meta pages may be damaged.
    if (!is_ours && schema.fields != entries->schema_at(last).fields) return std::nullopt;
    return schema;
  } catch (const Error& error) {
    if (error.code() == Code::io || error.code() == Code::bug) throw;
    if (!is_ours) return std::nullopt;
    throw Error(Code::damaged, "the first value is not a sample of shale, but the pages are")
        .at(file.path(), error.offset().value_or(0))
        .because(error.message())
        .hint("restore the file from an intact copy; --parse plain reads the values as they are");
  }
}

constexpr OptionSpec kOptions[] = {{.name = kLayoutOption, .default_value = kOwnLayout}};

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
    .can = {.kinds = kKinds,
            .holds_ragged = true,
            .holds_optional = true,
            .holds_slashes = true,
            .places_ascend = false,
            .largest_record = lmdb::kMaxValueBytes},
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
    .unpack = unpack_lmdb_file,
    .scan = scan_lmdb_shard,
    .split_scan = split_lmdb_scan,
    .scan_by_library = scan_lmdb_by_library,
    .open_map = open_lmdb_map,
    .walk_list = walk_msgpack_list,
    .split_list = split_msgpack_list,
    .takes_unread =
        [](const OptionSet& options) { return options.text(kLayoutOption) == kOwnLayout; },
    .layouts = kLmdbLayouts,
    .reader = kLmdbReader,
};

}  // namespace shale
