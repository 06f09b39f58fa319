#include "formats/parquet/parquet_own_scan.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/value_checksum.hpp"
#include "shale/parquet/parquet_footer.hpp"
#include "shale/wire/npy_header.hpp"

#include "formats/parquet/parquet_cursor.hpp"
#include "formats/parquet/parquet_features.hpp"
#include "formats/parquet/parquet_plan.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kWindowsBytes = 32 << 20, kSmallestWindow = 4096,
                        kLargestWindow = 256 * 1024, kPayloadRun = 256 * 1024;
// Row groups end where the footer says.
constexpr std::uint64_t kAnyGroup = std::uint64_t{1} << 62;

// The field whose numbers have names, as the JSON of the file has it.
LabelNames names_in(const ParquetFooter& footer, const Schema& schema) {
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    if (schema.fields[i].kind != Kind::integer) continue;
    std::vector<std::string> names = class_names_in(footer.key_values, schema.fields[i].name);
    if (bytes_of_class_names(names) > 0) return {i, std::move(names)};
  }
  return {};
}

class OwnScanner {
 public:
  OwnScanner(const ShardInput& input, const RowSink& rows, const FindingSink& findings)
      : file_(input.files[0]),
        schema_(input.schema),
        reads_payload_(input.reads_payload),
        rows_(rows),
        tell_([this, &findings](Finding finding) {
          is_telling_ = true;
          findings(std::move(finding));
          is_telling_ = false;
        }),
        draft_(file_, tell_),
        pace_(input.progress, file_.size()),
        plan_(plan_parquet(schema_, kAnyGroup)),
        order_(plan_.order()),
        measure_(plan_, schema_),
        sizes_(plan_.parts),
        window_bytes_(
            std::clamp(kWindowsBytes / plan_.leaves.size(), kSmallestWindow, kLargestWindow)) {
    for (const Field& field : schema_.fields) {
      first_side_.push_back(sides_);
      if (field.is_ragged()) sides_ += field.shape.size();
    }
  }

  void scan() try {
    WindowReader window(file_);
    const ParquetFooter footer = read_parquet_footer(window.views(), file_.size(), file_.path());
    if (as_text(window.view(0, kParquetMagic.size())) != kParquetMagic)
      throw Error(Code::damaged, "the file does not begin with PAR1").at(file_.path(), 0);
    for (const ParquetRowGroup& group : footer.row_groups) scan_group(group);
    draft_.at_row(std::nullopt);
    check_tail(footer);
  } catch (const Error& error) {
    if (is_telling_ || !is_about_bytes(error)) throw;  // who was told may throw, too
    draft_.report(error, "");
  }

 private:
  void scan_group(const ParquetRowGroup& group) {
    const auto rows = static_cast<std::uint64_t>(group.rows);
    if (group.chunks.size() != plan_.leaves.size() || rows == 0 || rows > measure_.most_rows()) {
      throw Error(Code::damaged, "a row group of {} columns and {} rows is not one of shale's",
                  group.chunks.size(), rows)
          .at(file_.path());
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> extents(plan_.leaves.size());
    for (const std::size_t i : order_) {
      const ParquetChunk& chunk = group.chunks[i];
      const auto begin = static_cast<std::uint64_t>(chunk.data_page_offset),
                 bytes = static_cast<std::uint64_t>(chunk.stored_bytes);
      if (begin != position_ || bytes > file_.size() - position_) {
        throw Error(Code::damaged, "a column does not begin where the one before it ends")
            .at(file_.path(), position_);
      }
      position_ += bytes;
      extents[i] = {begin, position_};
    }
    cursors_.clear();
    for (std::size_t i = 0; i < extents.size(); ++i)
      cursors_.emplace_back(plan_.leaves[i], file_, extents[i].first, extents[i].second, rows,
                            window_bytes_);
    for (std::uint64_t row = 0; row < rows; ++row) scan_row(row);
    WrittenGroup written{.rows = rows, .chunks = {}};
    for (ParquetCursor& cursor : cursors_) written.chunks.push_back(cursor.finish());
    groups_.push_back(std::move(written));
    measure_.close_group();
  }

  void scan_row(std::uint64_t row_of_group) {
    draft_.at_row(row_number_);
    pace_.step_to(cursors_[plan_.streamed].page_offset());
    row_.cells.assign(schema_.fields.size(), {});
    row_.sides.assign(sides_, 0);
    row_.key = {};
    row_.key_hash = 0;
    began_.assign(cursors_.size(), false);
    std::ranges::fill(sizes_, 0);
    if (plan_.has_key_column()) take(cursors_.size() - 1);
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      if (plan_.leaves[i].part > 0) take(i);
    }
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      if (began_[i] == (row_of_group == 0 || measure_.begins_page(i, sizes_))) continue;
      throw Error(Code::damaged, "a page does not end where shale ends it")
          .at(file_.path(), cursors_[i].page_offset());
    }
    measure_.add(sizes_);
    rows_(row_);
    ++row_number_;
  }

  void take(std::size_t number) {
    const ParquetLeaf& leaf = plan_.leaves[number];
    ParquetCursor& cursor = cursors_[number];
    const ParquetCursor::Row found = cursor.next(reads_payload_);
    began_[number] = found.begins_page;
    if (found.begins_page && !cursor.is_page_sound()) {
      draft_.begin("the checksum of a page does not match its bytes", cursor.page_offset()).field =
          leaf.part == 0 ? "key" : schema_.fields[leaf.part - 1].name;
      draft_.send();
    }
    if (leaf.is_path) {
      if (found.levels.is_absent == is_absent_ && found.levels.elements == elements_) return;
      throw Error(Code::damaged, "bytes and path of a value are not in the same rows")
          .at(file_.path(), cursor.page_offset());
    }
    is_absent_ = found.levels.is_absent;
    elements_ = found.levels.elements;
    sizes_[leaf.part] = found.stored;
    if (leaf.part == 0) return take_key(cursor, found);
    take_value(leaf, cursor, found);
  }

  void take_key(ParquetCursor& cursor, const ParquetCursor::Row& found) {
    if (found.place.length > kMaxKeyBytes) {
      throw Error(Code::damaged, "a key of {} bytes is longer than shale writes them",
                  found.place.length)
          .at(file_.path(), found.place.offset);
    }
    const Bytes key = cursor.view(found.place.offset, found.place.length);
    draft_.at_key(as_text(key));
    keys_are_text_ = keys_are_text_ && is_utf8(as_text(key));
    cursor.bounds().add(key);
    row_.key = found.place;
    row_.key_hash = xxh3_64(key);
    if (reads_payload_) row_.key.crc32c = crc32c(key);
  }

  void take_value(const ParquetLeaf& leaf, ParquetCursor& cursor, const ParquetCursor::Row& found) {
    const Field& field = schema_.fields[leaf.part - 1];
    IndexCell& cell = row_.cells[leaf.part - 1];
    if (found.levels.is_absent) {
      cell.lacks_number = !is_located(field.kind);
    } else if (!is_located(field.kind)) {
      take_number(leaf, field, cursor, found, cell);
      if (leaf.has_bounds) cursor.bounds().add(leaf, cell);
    } else {
      cell.place = found.place;
      if (field.kind == Kind::tensor) take_tensor(leaf, cursor, found, cell.place);
      if (!reads_payload_) return;
      cell.place.crc32c = crc32c_of_place(
          cell.place, kPayloadRun, pace_,
          [&](std::uint64_t at, std::uint64_t run) { return cursor.view(at, run); });
    }
  }

  void take_tensor(const ParquetLeaf& leaf, ParquetCursor& cursor, const ParquetCursor::Row& found,
                   FieldPlace& place) {
    const std::size_t number = leaf.part - 1;
    const Field& field = schema_.fields[number];
    std::vector<std::uint64_t> shape = field.shape;
    bool is_sound = true;
    if (leaf.is_npy) {
      const auto prefix = cursor.view(place.offset, std::min(place.length, kNpyPrefixBytes));
      const std::uint64_t length = npy_header_length(prefix, file_.path());
      is_sound = length <= place.length;
      if (is_sound) {
        const Bytes stored = cursor.view(place.offset, length);
        shape = parse_npy_header(stored, file_.path()).shape;
        is_sound =
            std::ranges::equal(stored, npy_header_bytes({.dtype = field.dtype, .shape = shape}));
        place.offset += length;
        place.length -= length;
      }
    } else if (field.is_ragged()) {
      shape[0] = found.levels.elements;
    }
    if (!is_sound || !field.takes_tensor(shape, place.length)) {
      throw Error(Code::damaged, "a tensor of {} bytes is not one of its field", found.place.length)
          .at(file_.path(), found.place.offset);
    }
    if (field.is_ragged())
      std::ranges::copy(shape,
                        row_.sides.begin() + static_cast<std::ptrdiff_t>(first_side_[number]));
  }

  void take_number(const ParquetLeaf& leaf, const Field& field, ParquetCursor& cursor,
                   const ParquetCursor::Row& found, IndexCell& cell) const {
    std::array<std::byte, sizeof(std::int64_t)> stored{};
    const DType dtype = dtype_of_column(field);
    if (leaf.type == ParquetType::boolean) {
      cell.integer = cursor.last_bit() ? 1 : 0;
      return;
    }
    const Bytes bytes = cursor.view(found.place.offset, found.place.length);
    std::ranges::copy(bytes, stored.begin());
    // The bytes beyond those of the dtype only repeat its sign.
    cell = read_number(Bytes(stored).first(dtype.item_bytes()), field);
    if (field.kind == Kind::integer &&
        !std::ranges::equal(bytes_of(cell.integer).first(bytes.size()), bytes))
      throw Error(Code::damaged, "an integer does not fit the dtype of its field")
          .at(file_.path(), found.place.offset);
  }

  // Our own end has one form: anything else is damage.
  void check_tail(const ParquetFooter& footer) {
    const LabelNames names = names_in(footer, schema_);
    WrittenFile end = describe_parquet(plan_, schema_, names, keys_are_text_);
    end.groups = std::move(groups_);
    const std::vector<std::byte> expected =
        parquet_tail(end, position_, measure_.bytes() + bytes_of_class_names(names.names));
    const std::uint64_t left = file_.size() - std::min(position_, file_.size());
    if (left != expected.size()) {
      draft_.report(position_, "the end of the file does not match its rows",
                    fmt::format("{} bytes", left), fmt::to_string(expected.size()));
      return;
    }
    std::vector<std::byte> found(left);
    file_.read_exact(position_, found);
    const auto differs = std::mismatch(found.begin(), found.end(), expected.begin()).first;
    if (differs == found.end()) return;
    draft_.report(position_ + static_cast<std::uint64_t>(differs - found.begin()),
                  "the end of the file does not match its rows");
  }

  const InputFile& file_;
  const Schema& schema_;
  const bool reads_payload_;
  const RowSink& rows_;
  bool is_telling_ = false;
  const FindingSink tell_;
  FindingDraft draft_;
  WalkPace pace_;
  const ParquetPlan plan_;
  const std::vector<std::size_t> order_;
  ParquetMeasure measure_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::size_t> first_side_;  // of each field, among those of a row
  std::size_t sides_ = 0;
  const std::uint64_t window_bytes_;
  std::uint64_t position_ = kParquetMagic.size(), row_number_ = 0;
  std::vector<ParquetCursor> cursors_;
  std::vector<bool> began_;
  std::vector<WrittenGroup> groups_;
  IndexRow row_;
  bool keys_are_text_ = true;
  // Of the leaf before.
  bool is_absent_ = false;
  std::uint64_t elements_ = 0;
};

ParquetFooter footer_of(const InputFile& file) {
  WindowReader window(file);
  return read_parquet_footer(window.views(), file.size(), file.path());
}

}  // namespace

void scan_own_parquet(const ShardInput& input, const RowSink& rows, const FindingSink& findings) {
  OwnScanner(input, rows, findings).scan();
}

std::optional<Schema> recognize_own_parquet(const InputFile& file, const WalkProgress& progress) {
  try {
    const ParquetFooter footer = footer_of(file);
    std::optional<Schema> schema = schema_of_key_values(footer.key_values);
    if (!schema) return std::nullopt;
    schema->has_keys = footer.schema.back().name == "key";
    (void)progress;
    return schema;
  } catch (const Error& error) {
    if (error.code() == Code::io || error.code() == Code::bug) throw;
    return std::nullopt;  // of damage the survey tells more
  }
}

std::string parquet_readme_fields(const InputFile& shard, const Schema& schema,
                                  const LabelNames& names) {
  const std::vector<ParquetElement> elements = footer_of(shard).schema;
  const bool keys_are_text = elements.back().annotation.meaning == ParquetMeaning::string;
  const bool are_held = bytes_of_class_names(names.names) > 0;
  return huggingface_yaml(schema, are_held ? names : LabelNames(), keys_are_text);
}

const ClassPlace parquet_class_place{.bytes = bytes_of_class_names,
                                     .read = [](const InputFile& file, std::string_view field) {
                                       return class_names_in(footer_of(file).key_values, field);
                                     }};

}  // namespace shale
