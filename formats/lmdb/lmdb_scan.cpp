#include "formats/lmdb/lmdb_scan.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/library_scan.hpp"
#include "shale/layouts/keyed_samples.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/layouts/named_samples.hpp"
#include "shale/layouts/value_layout.hpp"
#include "shale/layouts/value_reader.hpp"

#include "formats/lmdb/lmdb_databases.hpp"
#include "formats/lmdb/lmdb_library.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_tree_parts.hpp"

namespace shale {
namespace {

using lmdb::MetaPage;
using lmdb::ordinal_of;
using lmdb::TreeEntry;

// Header, pointer and key of an entry: a file holds no more entries than this goes into it.
constexpr std::uint64_t kLeastOwnEntryBytes = 18;

class LmdbScanner {
 public:
  // `view`, if there is one, reads the payload.
  LmdbScanner(const ShardInput& input, const RowSink& rows, const FindingSink& findings,
              const ViewBytes& view = {})
      : file_(input.files[0]),
        schema_(input.schema),
        dialect_(input.layout.dialect),
        keys_(input.layout.keys),
        database_(input.layout.database),
        facts_(is_layout(dialect_) && dialect_ != Dialect::keys ? &layouts::facts_of(dialect_)
                                                                : nullptr),
        reads_payload_(input.reads_payload),
        may_be_damaged_(input.lost != nullptr),
        rows_(rows),
        findings_(findings),
        draft_(file_, findings),
        pace_(input.progress, file_.size()),
        value_(file_, reads_payload_ ? layouts::ValueReads::payload : layouts::ValueReads::headers,
               pace_, view) {}

  void scan() {
    const FindingSink found_in_pages = [this](Finding finding) { pass_on(std::move(finding)); };
    const std::optional<MetaPage> meta = read_meta(found_in_pages);
    if (!meta) return;
    std::optional<SparseReading> sparse;
    if (!reads_payload_) sparse.emplace(file_);
    const bool is_keyed = !is_own() && (!keys_.empty() || dialect_ == Dialect::keys);
    const bool is_listed = is_keyed || (facts_ != nullptr && !facts_->described_by.empty());
    const lmdb::TreeWalkOptions options{
        .is_own = is_own(),
        .reads_overflow_headers = reads_payload_ || may_be_damaged_,
        .prefetches_values = !reads_payload_ && dialect_ != Dialect::plain && !is_listed,
        .pace = &pace_};
    const lmdb::EntrySink entries = [&](const TreeEntry& entry) {
      if (!is_listed && !describes_file(entry)) scan_entry(entry);
    };
    (void)lmdb::walk_trees(file_, *meta, options, entries, found_in_pages);
    if (is_keyed) {
      scan_keyed();
    } else if (is_listed) {
      scan_listed();
    }
  }

  /// The rows of a part: false where they are not as shale writes them, which may have become a
  /// finding.
  bool scan_rows(lmdb::TreeParts& parts, const ScanRows& part, const bool& has_findings) {
    row_number_ = part.begin.row;
    return parts.walk(part, pace_, [&](const TreeEntry& entry) {
      scan_entry(entry);
      return !has_findings;
    });
  }

  /// The entries as liblmdb walks through them; `path` opens the same file.
  void scan_by_library(const std::string& path) {
    if (!has_small_map()) return;
    lmdb::walk_by_liblmdb(
        path, file_.size(), [this](const TreeEntry& entry) { scan_entry(entry); },
        [this](Finding finding) {
          finding.file = file_.name();
          findings_(std::move(finding));
        });
  }

 private:
  [[nodiscard]] bool is_own() const { return dialect_ == Dialect::own; }

  // An entry that is not a sample.
  bool describes_file(const TreeEntry& entry) {
    const bool may_be = facts_ != nullptr ? facts_->may_be_described : dialect_ == Dialect::msgpack;
    if (!may_be || entry.value_offset == kMissing) return false;
    value_.enter(entry);
    return layouts::describes_file(
        as_text(entry.key), {value_.view(), entry.value_offset, entry.value_bytes, file_.path()});
  }

  // A map that is much larger than its file cannot be had everywhere; shale writes none.
  bool has_small_map() {
    constexpr std::uint64_t kLeastMapBytes = 1 << 20;
    const MetaPage meta = lmdb::read_live_meta(file_, [](const Finding&) {});
    const std::uint64_t expected = std::max(kLeastMapBytes, file_.size());
    if (meta.map_bytes <= expected) return true;
    draft_.begin("meta page asks for a larger map than the file needs", meta.offset);
    draft_.send(fmt::format("{} bytes", meta.map_bytes), fmt::to_string(expected));
    return false;
  }

  // In shards of shale an entry's key is the number of its row; the sample's key is in the value.
  void pass_on(Finding finding) {
    if (is_own() && finding.sample) {
      finding.row = ordinal_of(finding.sample->key);
      finding.sample.reset();
    }
    findings_(std::move(finding));
  }

  // Nullopt, after a finding, where the file cannot be walked.
  std::optional<MetaPage> read_meta(const FindingSink& findings) {
    Finding finding;
    finding.file = file_.name();
    finding.offset = 0;
    std::optional<MetaPage> meta;
    std::vector<Finding> found;  // told behind the handler, as the sink may throw
    try {
      const std::string_view database = std::string_view(database_).substr(0, database_.find(','));
      meta = lmdb::meta_of_database(file_, database,
                                    [&](Finding one) { found.push_back(std::move(one)); });
    } catch (const Error& error) {
      if (!is_about_bytes(error) && error.code() != Code::usage) throw;
      finding.message = error.message();
      finding.offset = error.offset();
    }
    for (Finding& one : found) findings(std::move(one));
    if (meta) {
      if (!is_own() || (meta->page_bytes == lmdb::kPageBytes && meta->main_tree.flags == 0))
        return meta;
      finding.offset = meta->offset;
      finding.message = "meta page differs from what shale writes";
      finding.found =
          fmt::format("pages of {} bytes, flags {:#06x}", meta->page_bytes, meta->main_tree.flags);
      finding.expected = fmt::format("{}, {:#06x}", lmdb::kPageBytes, 0);
    }
    findings_(std::move(finding));
    return std::nullopt;
  }

  void begin_row() {
    row_ = {};
    row_.cells.resize(schema_.fields.size());
    row_.sides.resize(ragged_axes_);
  }

  void scan_entry(const TreeEntry& entry) {
    draft_.at_row(row_number_);
    begin_row();
    if (is_own()) check_ordinal(entry);
    value_.enter(entry);
    if (!is_own()) take_key(entry);
    check_flags(entry);
    const bool is_value = (entry.flags & lmdb::kSubData) == 0 && entry.value_offset != kMissing;
    if (is_value && facts_ != nullptr) {
      scan_layout_value(entry, 0);
    } else if (is_value && dialect_ == Dialect::plain) {
      take_value(entry);
    } else if (is_value) {
      scan_map(entry);
    }
    emit();
  }

  // The samples that the entries which describe the file name, in their order.
  void scan_listed() {
    draft_.at_row(std::nullopt);
    try {
      const layouts::NamedSamples listed(lmdb::keyed_file(file_), database_, *facts_);
      listed.for_each([&](const layouts::NamedSample& sample) {
        pace_.step_to_row(row_number_, listed.samples());
        draft_.at_row(row_number_);
        begin_row();
        draft_.at_key(sample.key);
        row_.key_hash = xxh3_64(as_bytes(sample.key));
        row_.key = placed(sample.key_offset, sample.key.size());
        scan_listed_value(listed, sample);
        emit();
      });
    } catch (const Error& error) {
      report(error);
    }
  }

  // The samples whose keys say where their fields are, or in which order they are.
  void scan_keyed() {
    draft_.at_row(std::nullopt);
    try {
      const bool is_by_fields = dialect_ == Dialect::keys;
      const layouts::KeyedSamples keyed(lmdb::keyed_file(file_), keys_, database_);
      if (!is_by_fields && keyed.pattern().fields.size() != 1)
        throw Error(Code::damaged, "the index names several entries for a sample").at(file_.path());
      keyed.for_each([&](const layouts::KeyedSample& sample) {
        pace_.step_to_row(row_number_, keyed.expected());
        draft_.at_row(row_number_);
        begin_row();
        draft_.at_key(sample.key);
        row_.key_hash = xxh3_64(as_bytes(sample.key));
        row_.key = placed(sample.key_offset, sample.key.size());
        if (is_by_fields) {
          scan_fields(sample, keyed.pattern());
        } else {
          const layouts::ValueExtent entry = layouts::extent_of(*sample.entries.front());
          value_.enter(entry);
          facts_ != nullptr ? scan_layout_value(entry, 0) : scan_map(entry);
        }
        emit();
      });
    } catch (const Error& error) {
      report(error);
    }
  }

  void scan_fields(const layouts::KeyedSample& sample, const KeyPattern& pattern) {
    try {
      take_fields(layouts::fields_of(sample, pattern, &schema_, value_, file_.path()),
                  row_.key.offset);
    } catch (const Error& error) {
      report(error);
    }
  }

  void scan_listed_value(const layouts::NamedSamples& listed, const layouts::NamedSample& sample) {
    try {
      const KeyMapEntry found = listed.entry_of(sample);
      const layouts::ValueExtent value = layouts::extent_of(found);
      value_.enter(value);
      scan_layout_value(value, sample.label);
    } catch (const Error& error) {
      report(error);
    }
  }

  // Damage of what the pages hold is a finding; what stops the work goes on up.
  void report(const Error& error) {
    if (!is_about_bytes(error)) throw Error(error);
    draft_.begin(error.message(), error.offset());
    draft_.send();
  }

  void scan_layout_value(const layouts::ValueExtent& entry, std::int64_t label) {
    std::vector<layouts::LayoutField> fields;
    try {
      fields = facts_->parse({value_.view(), entry.value_offset, entry.value_bytes, file_.path()});
    } catch (const Error& error) {
      return report(error);
    }
    if (facts_->has_videos) fields.back().cell.integer = label;
    take_fields(fields, entry.value_offset);
  }

  void take_fields(const std::vector<layouts::LayoutField>& fields, std::uint64_t offset) {
    if (!layouts::fit_schema(fields, schema_)) {
      draft_.begin("the value has other fields than those before it", offset);
      return draft_.send();
    }
    std::span<std::uint64_t> sides = row_.sides;
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const Field& field = schema_.fields[i];
      const std::size_t axes = field.is_ragged() ? field.shape.size() : 0;
      const layouts::LayoutField* const found = layouts::find_field(fields, field.name, i);
      if (found == nullptr || found->field.is_optional) {
        row_.cells[i].lacks_number = !is_located(field.kind);
      } else {
        row_.cells[i] = found->cell;
        row_.elements.insert(row_.elements.end(), found->elements.begin(), found->elements.end());
        const FieldPlace& place = found->cell.place;
        if (is_located(field.kind))
          row_.cells[i].place = placed(place.offset, place.length, place.count);
        if (axes > 0) std::ranges::copy(found->field.shape, sides.begin());
      }
      sides = sides.subspan(axes);
    }
  }

  void check_flags(const TreeEntry& entry) {
    if (entry.flags == 0 || entry.flags == lmdb::kBigData) return;
    const bool is_database = (entry.flags & lmdb::kSubData) != 0;
    draft_.begin(is_database ? "entry is a named database, not a value"
                             : "entry's node has flags that are not valid for a value",
                 entry.key_offset);
    draft_.send(fmt::format("{:#06x}", entry.flags), fmt::format("0 or {:#06x}", +lmdb::kBigData));
  }

  void emit() {
    rows_(row_);
    ++row_number_;
  }

  // Keys count the rows. Where entries were lost their rows stay, without places.
  void check_ordinal(const TreeEntry& entry) {
    const std::optional<std::uint64_t> ordinal = ordinal_of(as_text(entry.key));
    if (entry.follows_loss && ordinal && *ordinal > row_number_ &&
        *ordinal <= file_.size() / kLeastOwnEntryBytes) {
      draft_.begin("rows from here on were lost with a damaged page", entry.page_offset);
      draft_.send(fmt::format("row {} next", *ordinal), {});
      while (row_number_ < *ordinal) emit();
      draft_.at_row(row_number_);
    }
    if (ordinal == row_number_) return;
    draft_.begin("key is not the number of its row", entry.key_offset);
    draft_.send(std::string(as_text(entry.key)), fmt::format("{:08}", row_number_));
  }

  void take_key(const TreeEntry& entry) {
    draft_.at_key(as_text(entry.key));
    row_.key_hash = xxh3_64(entry.key);
    row_.key = placed(entry.key_offset, entry.key.size());
  }

  void take_value(const TreeEntry& entry) {
    if (row_.cells.empty()) return;
    row_.cells[0].place = placed(entry.value_offset, entry.value_bytes);
  }

  FieldPlace placed(std::uint64_t offset, std::uint64_t length, std::uint32_t count = 0) {
    FieldPlace place{.offset = offset, .length = length, .count = count};
    if (reads_payload_) place.crc32c = value_.checksum(place);
    return place;
  }

  void scan_map(const layouts::ValueExtent& entry) {
    if (is_own()) {
      row_.record_offset = entry.value_offset;
      row_.record_length = entry.value_bytes;
    }
    try {
      auto* const parse = is_own() ? parse_msgpack_map : layouts::parse_map_of_fields;
      map_ = parse(value_.view(), entry.value_offset, entry.value_bytes, file_.path());
    } catch (const Error& error) {
      if (error.code() == Code::io) throw;
      draft_.begin(fmt::format("value is not a sample's map ({})", error.message()),
                   error.offset().value_or(entry.value_offset));
      return draft_.send();
    }
    read_key(entry);
    check_names(entry);
    std::span<std::uint64_t> sides = row_.sides;
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const Field& field = schema_.fields[i];
      const std::size_t axes = field.is_ragged() ? field.shape.size() : 0;
      const MsgpackEntry* value = find_field(i);
      if (value != nullptr && !is_none(*value)) {
        fill_cell(field, *value, row_.cells[i], sides.first(axes));
      } else if (field.is_optional) {
        row_.cells[i].lacks_number = !is_located(field.kind);
      }
      sides = sides.subspan(axes);
    }
  }

  // Findings name the sample, so its key is read before anything else is checked.
  void read_key(const layouts::ValueExtent& entry) {
    const MsgpackEntry* key = layouts::find_entry(map_, "key");
    if (key == nullptr) {
      if (!is_own()) return;  // the entry's own key it is
      draft_.begin("map has no entry 'key'", entry.value_offset).field = "key";
      return draft_.send();
    }
    const bool is_of_type = is_own() ? key->type == MsgpackType::bytes : key->is_run();
    if (!is_of_type || key->length > kMaxKeyBytes) {
      draft_.begin("entry 'key' of the map is not a valid key", key->value_offset).field = "key";
      draft_.send(fmt::format("{} of {} bytes", name_of(key->type), key->length),
                  fmt::format("bytes, at most {}", kMaxKeyBytes));
      return;
    }
    const Bytes bytes = value_.view()(key->offset, key->length);
    draft_.at_key(as_text(bytes));
    row_.key_hash = xxh3_64(bytes);
    row_.key = placed(key->offset, key->length);
  }

  // What maps of others have where a value is absent.
  [[nodiscard]] bool is_none(const MsgpackEntry& value) const {
    return !is_own() && value.type == MsgpackType::nil;
  }

  // The map's entries without the key: own maps have it in front, others anywhere or not at all,
  // and `fields` of the schema.
  [[nodiscard]] bool is_as_planned(std::size_t fields) const {
    if (!is_own()) {
      const auto others = std::ranges::count_if(map_, [this](const MsgpackEntry& entry) {
        return entry.name == "key" || !schema_.find(entry.name);
      });
      return map_.size() == fields + static_cast<std::size_t>(others);
    }
    if (map_.empty() || map_[0].name != "key") return false;
    auto next = map_.begin() + 1;
    for (const Field& field : schema_.fields) {
      const bool is_there = next != map_.end() && next->name == field.name;
      if (!is_there && !field.is_optional) return false;
      if (is_there) ++next;
    }
    return next == map_.end();
  }

  [[nodiscard]] const MsgpackEntry* find_field(std::size_t field) const {
    const std::string& name = schema_.fields[field].name;
    // Where writers put it; a search in the map is for those that did not.
    if (field + 1 < map_.size() && map_[field + 1].name == name) return &map_[field + 1];
    return layouts::find_entry(map_, name);
  }

  // Exactly the schema's fields, once each.
  void check_names(const layouts::ValueExtent& entry) {
    bool is_complete = !is_own() || layouts::find_entry(map_, "key") != nullptr;
    std::size_t fields = 0;
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const MsgpackEntry* const value = find_field(i);
      fields += value != nullptr ? 1 : 0;
      const bool is_there = value != nullptr && !is_none(*value);
      if (is_there || schema_.fields[i].is_optional) continue;
      is_complete = false;
      const std::string& name = schema_.fields[i].name;
      draft_.begin(fmt::format("map has no entry '{}'", printable(name)), entry.value_offset)
          .field = name;
      draft_.send();
    }
    if (is_as_planned(fields) || !is_complete) return;
    const auto extra =
        std::find_if(map_.begin(), map_.end(), [this](const MsgpackEntry& candidate) {
          return candidate.name != "key" && !is_none(candidate) && !schema_.find(candidate.name);
        });
    if (extra != map_.end()) {
      draft_.begin("map has an entry that the schema does not have", extra->value_offset);
      return draft_.send(extra->name, {});
    }
    draft_.begin("map repeats entries, or has them in the wrong order", entry.value_offset);
    draft_.send(fmt::format("{} entries", map_.size()),
                fmt::format("{} in the order of the schema", schema_.fields.size() + 1));
  }

  void fill_cell(const Field& field, const MsgpackEntry& value, IndexCell& cell,
                 std::span<std::uint64_t> sides) {
    if (!layouts::can_hold(field, value, is_own())) {
      draft_.begin("value of the map has the wrong type", value.value_offset).field = field.name;
      return draft_.send(std::string(name_of(value.type)), std::string(name_of(field.kind)));
    }
    switch (field.kind) {
      case Kind::integer:
        cell.integer = value.integer;
        return;
      case Kind::real:
        cell.real = value.real;
        return;
      case Kind::tensor:
        return fill_tensor(field, value, cell, sides);
      case Kind::bytes:
      case Kind::text:
      case Kind::list:
        cell.place = placed(value.offset, value.length, value.count);
    }
  }

  void fill_tensor(const Field& field, const MsgpackEntry& value, IndexCell& cell,
                   std::span<std::uint64_t> sides) {
    std::optional<layouts::TensorValue> tensor;
    try {
      tensor = layouts::read_tensor(value_.view(), value, is_own());
    } catch (const Error& error) {
      if (error.code() == Code::io) throw;
    }
    if (!tensor) {
      draft_.begin("value is not a map of dtype, shape and data", value.value_offset).field =
          field.name;
      return draft_.send();
    }
    const std::string& dtype = field.dtype.descr();
    if (tensor->dtype != dtype && (is_own() || !is_same_dtype(tensor->dtype, field.dtype))) {
      draft_.begin("tensor has the wrong dtype", value.value_offset).field = field.name;
      return draft_.send(tensor->dtype, dtype);
    }
    if (is_own() && tensor->is_ragged != field.is_ragged()) {
      draft_.begin("tensor is not written as its field is", value.value_offset).field = field.name;
      return draft_.send();
    }
    if (!shape_fits(tensor->shape, field.shape)) {
      draft_.begin("tensor has the wrong shape", value.value_offset).field = field.name;
      return draft_.send(shape_text(tensor->shape), shape_text(field.shape));
    }
    if (!field.takes_tensor(tensor->shape, tensor->data.length)) {
      draft_.begin("tensor's data has the wrong size", value.value_offset).field = field.name;
      return draft_.send(fmt::format("{} bytes", tensor->data.length),
                         fmt::format("those of {}", array_text(field.dtype, tensor->shape)));
    }
    if (field.is_ragged()) std::ranges::copy(tensor->shape, sides.begin());
    cell.place = placed(tensor->data.offset, tensor->data.length);
  }

  // "<u1" and "|u1" are one dtype.
  static bool is_same_dtype(const std::string& text, const DType& dtype) {
    try {
      return DType::parse(text) == dtype;
    } catch (const Error&) {
      return false;
    }
  }

  const InputFile& file_;
  const Schema& schema_;
  std::size_t ragged_axes_ = schema_.ragged_axes();
  Dialect dialect_;
  const std::string &keys_, &database_;  // as ShardLayout has them
  const layouts::LayoutFacts* facts_;    // of a layout
  bool reads_payload_, may_be_damaged_;
  const RowSink& rows_;
  const FindingSink& findings_;
  FindingDraft draft_;
  WalkPace pace_;
  layouts::ValueReader value_;

  // Of the entry at hand; kept here so that their memory is.
  std::uint64_t row_number_ = 0;
  std::vector<MsgpackEntry> map_;
  IndexRow row_;
};

}  // namespace

void scan_lmdb_shard(const ShardInput& input, const OptionSet&, const RowSink& rows,
                     const FindingSink& findings) {
  LmdbScanner(input, rows, findings).scan();
}

SplitScan split_lmdb_scan(const ShardInput& input) {
  const std::shared_ptr<lmdb::TreeParts> parts = lmdb::TreeParts::open(input.files[0]);
  if (parts == nullptr) return {};
  return {
      .samples = parts->entries(),
      .first_at = [parts](std::uint64_t byte) { return parts->first_at(byte); },
      .scan =
          [parts](const ShardInput& shard, const ScanRows& part, const RowSink& rows) {
            bool has_findings = false;
            const FindingSink note = [&](const Finding&) { has_findings = true; };
            return LmdbScanner(shard, rows, note, part.view).scan_rows(*parts, part, has_findings);
          },
      .is_complete = [parts] { return parts->is_complete(); }};
}

LibraryReading scan_lmdb_by_library(const ShardInput& input, const RowSink& rows,
                                    const FindingSink& findings, const std::function<void()>& ask) {
  LibraryScan scan{
      .library = lmdb::library_name(),
      .limits = child_limits_for(input.files[0].size()),
      .hold = [] { return std::unique_lock<std::mutex>(); },  // its state is the environment's
      .scan =
          [&](const std::string& path, const RowSink& rows_there,
              const FindingSink& findings_there) {
            LmdbScanner(input, rows_there, findings_there).scan_by_library(path);
          }};
  // The map is all of the file, and never less than what shale writes into the meta page.
  scan.limits.memory_bytes = ChildLimits().memory_bytes + input.files[0].size();
  return scan_in_child(input, scan, rows, findings, ask);
}

}  // namespace shale
