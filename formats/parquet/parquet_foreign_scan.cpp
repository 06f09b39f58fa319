#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/value_checksum.hpp"
#include "shale/parquet/parquet_slots.hpp"

#include "formats/parquet/parquet_foreign.hpp"
#include "formats/parquet/parquet_words.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPayloadWindow = 256 * 1024;
// Of all columns, and of one.
constexpr std::uint64_t kAllWindows = 64 << 20, kLeastWindow = 4096;

// A column that is read row by row.
struct ReadColumn {
  ReadColumn(const InputFile& file, const ParquetForeignFile& parquet,
             const ParquetForeignField& of, bool is_in_place, std::uint64_t window_bytes)
      : window(file, window_bytes),
        view(window.views()),
        column(parquet.columns[of.column]),
        described(of),
        is_placed(is_in_place),
        slots(view, file.path(), column,
              is_in_place ? ParquetSlots::Use::places : ParquetSlots::Use::values,
              parquet.footer_begin) {}

  WindowReader window;
  ViewBytes view;
  const ParquetColumn& column;
  const ParquetForeignField& described;
  bool is_placed;
  ParquetSlots slots;
};

class ForeignParquetScanner {
 public:
  ForeignParquetScanner(const ShardInput& input, const RowSink& rows, const FindingSink& findings)
      : input_(input),
        file_(input.files[0]),
        rows_(rows),
        draft_(file_, findings),
        pace_(input.progress, file_.size()),
        payload_(file_, kPayloadWindow) {}

  void scan() {
    try {
      parquet_ = describe_foreign_parquet(file_);
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      draft_.begin(error.message(), error.offset());
      return draft_.send();
    }
    if (!open_columns()) return;
    for (const ParquetRowGroup& group : parquet_.footer.row_groups) {
      if (is_lost(group)) continue;
      if (!scan_group(group)) return;
    }
  }

 private:
  // As drop_damaged_groups() has them: a row group without rows is none of them.
  bool is_lost(const ParquetRowGroup& group) {
    if (input_.lost == nullptr || group.rows == 0 || passed_ == input_.lost->size() ||
        (*input_.lost)[passed_].before != number_)
      return false;
    ++passed_;
    return true;
  }

  // The index was made by survey(), from this file or from one that it was; in a set, where others
  // may have more fields.
  bool open_columns() {
    for (std::size_t i = 0; i < input_.schema.fields.size(); ++i) {
      const Field& field = input_.schema.fields[i];
      const auto found = std::ranges::find(
          parquet_.fields, field.name,
          [](const ParquetForeignField& one) -> const std::string& { return one.field.name; });
      if (found == parquet_.fields.end() && field.is_optional) {
        columns_.push_back(nullptr);
        continue;
      }
      if (found == parquet_.fields.end() || !is_of(found->field, field)) {
        draft_.begin("the columns of this file are not those that were indexed").field = field.name;
        draft_.send();
        return false;
      }
      columns_.push_back(open(*found, input_.layout.field_part[i] == 0));
    }
    if (!input_.layout.has_keys) return true;
    if (!parquet_.key) {
      draft_.begin("the file has no column of keys, which was indexed").field = "key";
      draft_.send();
      return false;
    }
    key_ = open(parquet_.fields[*parquet_.key], input_.layout.key_part == 0);
    return true;
  }

  static bool is_of(const Field& found, const Field& field) {
    const bool is_bytes = found.kind == Kind::text && field.kind == Kind::bytes;
    return (found.kind == field.kind || is_bytes) && found.dtype == field.dtype &&
           found.shape.size() == field.shape.size() && found.elements == field.elements;
  }

  std::unique_ptr<ReadColumn> open(const ParquetForeignField& field, bool is_in_place) {
    const bool is_placed = is_in_place && field.form != ParquetForm::number;
    const std::uint64_t window =
        std::clamp(kAllWindows / (input_.schema.fields.size() + 1), kLeastWindow, kPayloadWindow);
    auto column = std::make_unique<ReadColumn>(file_, parquet_, field, is_placed, window);
    column->slots.count_in(expansion_);
    if (input_.reads_payload || !is_placed) column->slots.check_pages();  // read as a whole anyway
    return column;
  }

  bool scan_group(const ParquetRowGroup& group) {
    ReadColumn* at = nullptr;
    try {
      for_each_column([&](ReadColumn& column) {
        at = &column;
        column.slots.open(group.chunks[column.described.column]);
      });
      for (std::int64_t row = 0; row < group.rows; ++row) {
        pace_.step_to_row(number_, static_cast<std::uint64_t>(parquet_.footer.rows));
        draft_.at_row(number_);
        scan_row(at);
        rows_(row_);
        ++number_;
      }
      draft_.at_row(std::nullopt);
      for_each_column([&](ReadColumn& column) {
        at = &column;
        if (column.slots.next())
          throw Error(Code::damaged, "has more rows than the {} of its row group", group.rows);
      });
    } catch (Error& error) {
      if (expansion_.wanted() > 0) {  // nothing is wrong with the file
        add_memory_hint(error, parquet_, expansion_);
        throw;
      }
      if (!is_about_bytes(error)) throw;
      draft_.report(error, at == nullptr ? "" : at->described.field.name);
      return false;
    }
    return true;
  }

  template <class Use>
  void for_each_column(const Use& use) {
    if (key_) use(*key_);
    for (const std::unique_ptr<ReadColumn>& column : columns_)
      if (column) use(*column);
  }

  void scan_row(ReadColumn*& at) {
    row_ = {};
    row_.cells.resize(columns_.size());
    row_.sides.reserve(input_.schema.ragged_axes());
    if (key_) {
      at = key_.get();
      scan_key();
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Field& field = input_.schema.fields[i];
      at = columns_[i].get();
      first_side_ = row_.sides.size();
      if (field.is_ragged()) row_.sides.resize(first_side_ + field.shape.size());
      const bool is_there = at != nullptr && scan_cell(*at, field, row_.cells[i]);
      if (is_there) continue;
      if (at != nullptr && !field.is_optional)
        throw Error(Code::damaged, "has no value here, where its statistics say that all are");
      row_.cells[i].lacks_number = !is_located(field.kind);
    }
  }

  void begin_row(ReadColumn& column) const {
    if (!column.slots.next()) throw Error(Code::damaged, "has fewer rows than its row group");
    if (column.slots.repetition() != 0) throw begins_in_row_before();
  }

  void scan_key() {
    begin_row(*key_);
    if (!key_->slots.has_value()) throw Error(Code::damaged, "has no key here");
    row_.key = place_value(*key_);
    if (row_.key.length > kMaxKeyBytes) throw key_too_long(row_.key.length);
    const Bytes key =
        key_->is_placed ? payload_.view(row_.key.offset, row_.key.length) : as_bytes(key_words_);
    row_.key_hash = xxh3_64(key);
    draft_.at_key(as_text(key));
  }

  // The next value of a column of bytes or text; that of a key is kept, too.
  FieldPlace place_value(ReadColumn& column) {
    FieldPlace place;
    if (column.is_placed) {
      const ParquetPlace found = column.slots.place();
      place = {.offset = found.offset, .length = found.length};
      if (input_.reads_payload) place.crc32c = crc_of(place);
      return place;
    }
    const Bytes value = value_of(column);
    if (&column == key_.get()) key_words_ = as_text(value);
    return put(value);
  }

  // Valid until the next call.
  Bytes value_of(ReadColumn& column) {
    const Bytes value = column.slots.value();
    if (column.described.form == ParquetForm::words) {
      words_ = words_of(column.column.leaf, value);
      return as_bytes(words_);
    }
    check_text(column.described.form, value);
    return value;
  }

  FieldPlace put(Bytes value) const {
    FieldPlace place{.offset = input_.put_value ? input_.put_value(value) : 0,
                     .length = value.size()};
    if (input_.reads_payload) place.crc32c = crc32c(value);
    return place;
  }

  std::uint32_t crc_of(const FieldPlace& place) {
    return crc32c_of_place(place, kPayloadWindow, pace_,
                           [this](std::uint64_t offset, std::uint64_t length) {
                             return payload_.view(offset, length);
                           });
  }

  // False: the row has no value.
  bool scan_cell(ReadColumn& column, const Field& field, IndexCell& cell) {
    begin_row(column);
    if (column.column.most_repetition > 0) return scan_list(column, field, cell);
    if (!column.slots.has_value()) return false;
    if (column.described.form != ParquetForm::number) {
      cell.place = place_value(column);
      return true;
    }
    const Bytes number = number_of(column, field);
    if (is_located(field.kind)) {
      cell.place = put(number);
    } else {
      cell = read_number(number, field);
    }
    return true;
  }

  // Numbers of 8 and 16 bits are stored in 32.
  static Bytes number_of(ReadColumn& column, const Field& field) {
    const Bytes stored = column.slots.value();
    const std::uint64_t bytes = dtype_of_column(field).item_bytes();
    if (bytes > stored.size())
      throw Error(Code::damaged, "has a number of {} bytes, expected {}", stored.size(), bytes);
    return stored.first(bytes);
  }

  bool scan_list(ReadColumn& column, const Field& field, IndexCell& cell) {
    ParquetSlots& slots = column.slots;
    const std::vector<std::uint32_t>& levels = column.column.element_levels;
    if (slots.definition() + 1 < levels[0]) return false;
    gathered_.clear();
    const std::size_t first_element = row_.elements.size();
    std::uint64_t count = 0, values = 0;
    while (true) {
      if (slots.definition() >= levels[0]) {
        if (slots.repetition() <= 1) check_elements(++count);
        if (slots.has_value()) {
          ++values;
          gather(column, field);
        } else if (levels.size() == 1 || slots.definition() + 1 != levels[1]) {
          throw Error(Code::damaged, "has a list of which an element is not there");
        }
      }
      if (!slots.row_goes_on()) break;
      if (!slots.next()) break;
    }
    if (field.kind == Kind::list) {
      place_list(column, first_element, static_cast<std::uint32_t>(count), cell);
    } else {
      place_tensor(field, count, values, cell);
    }
    return true;
  }

  void gather(ReadColumn& column, const Field& field) {
    constexpr std::uint64_t kMostBytes = 1 << 30, kMostOfRow = 16 * kMaxElements;
    if (field.kind == Kind::list) {
      if (row_.elements.size() == kMostOfRow)
        throw Error(Code::limit, "has lists of more than {} elements in one row", kMostOfRow);
      if (column.is_placed) {
        const ParquetPlace place = column.slots.place();
        row_.elements.push_back({.offset = place.offset, .length = place.length});
        return;
      }
      const Bytes value = value_of(column);
      const auto length = static_cast<std::uint32_t>(value.size());
      gathered_.write(length);
      row_.elements.push_back({.offset = gathered_.size(),
                               .length = length,
                               .crc32c = input_.reads_payload ? crc32c(value) : 0});
      gathered_.write_bytes(value);
    } else {
      gathered_.write_bytes(number_of(column, field));
    }
    if (gathered_.size() > kMostBytes)
      throw Error(Code::limit, "has a list of more than {} bytes", kMostBytes);
  }

  // Its extent has the length of each element in front of it, u32.
  void place_list(const ReadColumn& column, std::size_t first, std::uint32_t count,
                  IndexCell& cell) {
    const std::span<FieldPlace> elements = std::span(row_.elements).subspan(first);
    if (!column.is_placed) {
      cell.place = put(gathered_.bytes());
      for (FieldPlace& element : elements) element.offset += cell.place.offset;
    } else if (elements.empty()) {
      cell.place = {.offset = kValueLengthBytes, .length = 0};
    } else {
      for (std::size_t i = 1; i < elements.size(); ++i) {
        const std::uint64_t end = elements[i - 1].offset + elements[i - 1].length;
        if (elements[i].offset != end + kValueLengthBytes)
          throw Error(Code::unsupported, "has a list that lies in two pages");
      }
      const std::uint64_t begin = elements.front().offset - kValueLengthBytes;
      cell.place = {.offset = begin,
                    .length = elements.back().offset + elements.back().length - begin};
      if (input_.reads_payload) {
        for (FieldPlace& element : elements) element.crc32c = crc_of(element);
        cell.place.crc32c = crc_of(cell.place);
      }
    }
    cell.place.count = count;
  }

  void place_tensor(const Field& field, std::uint64_t count, std::uint64_t values,
                    IndexCell& cell) {
    std::vector<std::uint64_t> shape = {count};
    if (field.shape.size() > 1) {
      const std::uint64_t free = field.shape[1] == kFreeSide ? 0 : field.shape[1];
      shape.push_back(count == 0 ? free : values / count);
      if (shape[0] * shape[1] != values)
        throw Error(Code::damaged, "has a list of lists that is not rectangular");
    }
    if (!shape_fits(shape, field.shape))
      throw Error(Code::damaged, "has {} elements, which do not fit its shape", count);
    if (field.is_ragged())
      std::ranges::copy(shape, row_.sides.begin() + static_cast<std::ptrdiff_t>(first_side_));
    cell.place = put(gathered_.bytes());
  }

  const ShardInput& input_;
  const InputFile& file_;
  const RowSink& rows_;
  FindingDraft draft_;
  WalkPace pace_;
  WindowReader payload_;
  ParquetForeignFile parquet_;
  ParquetExpansion expansion_ = expansion_within(file_, input_.memory_bytes);
  std::vector<std::unique_ptr<ReadColumn>> columns_;  // one per field; null: the file has none
  std::unique_ptr<ReadColumn> key_;
  std::string words_, key_words_;
  ByteWriter gathered_;
  std::size_t first_side_ = 0;
  IndexRow row_;
  std::uint64_t number_ = 0;
  std::size_t passed_ = 0;  // of what is lost
};

}  // namespace

void scan_foreign_parquet(const ShardInput& input, const RowSink& rows,
                          const FindingSink& findings) {
  ForeignParquetScanner(input, rows, findings).scan();
}

}  // namespace shale
