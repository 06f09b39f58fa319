#include "shale/trees/hdf5_foreign_scan.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/value_checksum.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"
#include "shale/trees/hdf5_foreign_columns.hpp"
#include "shale/trees/hdf5_steps.hpp"
#include "shale/trees/hdf5_values.hpp"

namespace shale {
namespace {

// Bytes at the end that begin a UTF-8 sequence and may be continued by those that follow.
std::size_t cut_tail(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<std::uint8_t>(text[text.size() - back]);
    const std::size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    if (needs > back) return back;
    if (byte >= 0xC0 || byte < 0x80) return 0;
  }
  return 0;
}

// A window over the values of a file: what is small is read once, what is large goes by in pieces.
class Hdf5Payload {
 public:
  Hdf5Payload(const InputFile& file, WalkPace& pace) : pace_(pace), window_(file, kWindow) {}

  [[nodiscard]] std::uint32_t crc_of(const FieldPlace& place) {
    return crc32c_of_place(place, kWindow, pace_, window_.views());
  }

  [[nodiscard]] bool is_text(const FieldPlace& place) {
    for (std::uint64_t done = 0; done < place.length;) {
      const std::uint64_t run = std::min(kWindow, place.length - done);
      if (done > 0) pace_.step();
      const bool is_last = done + run == place.length;
      std::string_view piece = as_text(view({.offset = place.offset + done, .length = run}));
      if (!is_last) piece.remove_suffix(cut_tail(piece));
      if (!is_utf8(piece)) return false;
      done += piece.size();
    }
    return true;
  }

  // Valid until the next call.
  [[nodiscard]] Bytes view(const FieldPlace& place) {
    return window_.view(place.offset, place.length);
  }

 private:
  static constexpr std::uint64_t kWindow = 256 * 1024;
  WalkPace& pace_;
  WindowReader window_;
};

// Looks at the values as far as the schema depends on them, and at all offsets.
void survey_values(const Hdf5ForeignColumns& columns, const InputFile& file, WalkPace& pace,
                   Hdf5ForeignColumn& column) {
  const bool is_list = column.form == Hdf5ForeignColumn::Form::list;
  const bool is_flat = column.form == Hdf5ForeignColumn::Form::flat || is_list;
  if (!is_flat && !column.may_be_text()) return;
  Hdf5Heap heap(file);
  Hdf5Values values(column, columns.description.base_address, file, heap);
  Hdf5Payload payload(file, pace);
  for (std::uint64_t row = 0; row < columns.rows; ++row) {
    pace.step_to_row(row, columns.rows);
    const FieldPlace place = values.place_of(row);
    if (is_list) (void)values.elements_of(row, place);
    if (is_flat || place.offset == kMissing || payload.is_text(place)) continue;
    column.field.kind = Kind::bytes;
    return;
  }
}

class ForeignScanner {
 public:
  ForeignScanner(const ShardInput& input, const RowSink& rows, const FindingSink& findings)
      : input_(input),
        file_(input.files[0]),
        rows_(rows),
        draft_(file_, findings),
        heap_(file_),
        pace_(input.progress, file_.size()),
        payload_(file_, pace_) {}

  void scan(const std::function<Hdf5Description()>& describe) try {
    Hdf5Description description = describe();
    if (input_.layout.dialect == Dialect::robomimic) return scan_steps(std::move(description));
    columns_ = find_hdf5_columns(std::move(description), file_);
    scan_columns();
  } catch (const Error& error) {
    // Of the rows there are findings already.
    if (has_begun_ || !is_about_bytes(error)) throw;
    draft_.report(error, {});
  }

 private:
  void scan_columns() {
    if (!is_as_indexed()) return;
    has_begun_ = true;
    if (input_.layout.rows.has_strides()) return check_fixed_rows();
    const std::uint64_t base = columns_.description.base_address;
    for (std::size_t i = 0; i < column_of_.size(); ++i) {
      const Hdf5ForeignColumn* const column = column_of_[i];
      FieldValues& field =
          fields_.emplace_back(column == nullptr ? input_.schema.fields[i] : column->field);
      if (column != nullptr) field.values.emplace(*column, base, file_, heap_);
    }
    if (columns_.key) key_.emplace(*columns_.key, base, file_, heap_);
    for (std::uint64_t number = 0; number < columns_.rows; ++number) {
      pace_.step_to_row(number, columns_.rows);
      draft_.at_row(number);
      scan_row(number);
    }
  }

  // The rows of one demonstration after the other.
  void scan_steps(Hdf5Description description) {
    if (!has_hdf5_steps(description)) return report_other_fields({});
    const Hdf5Steps steps = find_hdf5_steps(std::move(description), file_);
    check_steps_lie_in_place(steps, file_);
    if (steps.schema.fields != input_.schema.fields) return report_other_fields(steps.schema);
    has_begun_ = true;
    for (const Hdf5Steps::Demo& demo : steps.demos) {
      fields_.clear();
      for (std::size_t i = 0; i < demo.datasets.size(); ++i) {
        fields_.emplace_back(steps.schema.fields[i]);
        if (demo.datasets[i] == nullptr) continue;
        Hdf5ForeignColumn column;
        column.data = demo.datasets[i];
        fields_.back().values.emplace(column, 0, file_, heap_);
      }
      for (std::uint64_t step = 0; step < demo.rows; ++step) {
        pace_.step_to_row(demo.first + step, steps.rows);
        draft_.at_row(demo.first + step);
        demo_ = demo.number;
        scan_row(step);
      }
    }
  }

  void report_other_fields(const Schema& found) {
    const auto names = [](const Schema& schema) {
      std::string text;
      for (const Field& field : schema.fields)
        text += (text.empty() ? "" : ", ") + printable(field_text(field));
      return text;
    };
    draft_.begin("the datasets of this file are not those that were indexed");
    draft_.send(names(found), names(input_.schema));
  }

  // The index was made by survey(), from this file or from one that it was; in a set, where others
  // may have more fields.
  bool is_as_indexed() {
    bool is_same = columns_.key.has_value() == input_.layout.has_keys;
    std::size_t met = 0;
    for (const Field& field : input_.schema.fields) {
      const auto column = std::ranges::find(
          columns_.fields, field.name,
          [](const Hdf5ForeignColumn& one) -> const std::string& { return one.field.name; });
      const bool is_there = column != columns_.fields.end();
      is_same = is_same && (is_there ? has_values_of(*column, field) : field.is_optional);
      column_of_.push_back(is_there ? &*column : nullptr);
      met += is_there ? 1 : 0;
    }
    if (is_same && met == columns_.fields.size()) return true;
    draft_.begin("the datasets of this file are not those that were indexed");
    draft_.send(names_of(columns_.schema(), columns_.key.has_value()),
                names_of(input_.schema, input_.layout.has_keys));
    return false;
  }

  static bool has_values_of(const Hdf5ForeignColumn& column, const Field& field) {
    Field found = column.field;
    // What the strings are is known by their values alone.
    if (column.may_be_text() && field.kind == Kind::bytes) found.kind = Kind::bytes;
    // Of strings that shale wrote beside one another somebody else may know that they are text.
    if (column.form == Hdf5ForeignColumn::Form::flat && field.kind == Kind::text)
      found.kind = Kind::text;
    // An index may have been made before the dtype of numbers was kept, and that of int8.
    if (!is_located(field.kind) && field.dtype.item_bytes() == 0) found.dtype = {};
    if (field.kind == Kind::bytes && found.is_ragged() && found.dtype.descr() == "|i1") return true;
    found.is_optional = field.is_optional;
    for (std::size_t axis = 0; axis < std::min(found.shape.size(), field.shape.size()); ++axis) {
      if (field.shape[axis] == kFreeSide) found.shape[axis] = kFreeSide;
    }
    return found == field;
  }

  // Their values are any bytes: there is nothing to walk.
  void check_fixed_rows() {
    const std::optional<std::vector<std::uint64_t>> bases = columns_.fixed_bases();
    if (bases && columns_.rows == input_.samples && std::ranges::equal(*bases, input_.bases))
      return;
    draft_.begin("the rows of this file are not where its manifest says");
    draft_.send(places_text(columns_.rows, bases.value_or(std::vector<std::uint64_t>())),
                places_text(input_.samples, input_.bases));
  }

  static std::string places_text(std::uint64_t rows, std::span<const std::uint64_t> bases) {
    return fmt::format("{} rows from bytes {}", rows, fmt::join(bases, ", "));
  }

  static std::string names_of(const Schema& schema, bool has_keys) {
    std::string text = has_keys ? "key" : "no key";
    for (const Field& field : schema.fields)
      text += fmt::format(", {} ({})", field.name, name_of(field.kind));
    return text;
  }

  void scan_row(std::uint64_t number) {
    row_ = {};
    row_.cells.resize(fields_.size());
    row_.sides.reserve(fields_.size());
    if (key_) scan_key(number);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const auto& [field, values] = fields_[i];
      if (!values && !column_of_.empty()) {
        const Field& absent = input_.schema.fields[i];
        row_.cells[i].lacks_number = !is_located(absent.kind);
        if (absent.is_ragged()) row_.sides.resize(row_.sides.size() + absent.shape.size());
        continue;
      }
      if (!values) {
        row_.cells[i].integer =
            field.name == kDemoField ? demo_ : static_cast<std::int64_t>(number);
        continue;
      }
      try {
        read_cell(i, number);
      } catch (const Error& error) {
        if (!is_about_bytes(error)) throw;
        draft_.report(error, field.name);
      }
    }
    rows_(row_);
  }

  void read_cell(std::size_t field, std::uint64_t number) {
    const Kind kind = input_.schema.fields[field].kind;
    Hdf5Values& values = *fields_[field].values;
    if (!is_located(kind)) {
      row_.cells[field] = values.rows().number(number, fields_[field].field);
      return;
    }
    const bool is_ragged = input_.schema.fields[field].is_ragged();
    const bool is_vlen = values.rows().dataset().has_variable_length();
    if (is_ragged && is_vlen) row_.sides.push_back(0);
    if (is_ragged && !is_vlen) {
      const std::vector<std::uint64_t> sides = values.rows().dataset().all_sides();
      row_.sides.insert(row_.sides.end(), sides.begin() + 1, sides.end());
    }
    row_.cells[field].place = checked(values.place_of(number));
    if (is_ragged && is_vlen) {
      row_.sides.back() =
          row_.cells[field].place.length / input_.schema.fields[field].dtype.item_bytes();
    }
    if (kind == Kind::text && input_.reads_payload) check_text(field);
    if (kind == Kind::list) add_elements(field, number);
  }

  void scan_key(std::uint64_t number) {
    try {
      const FieldPlace place = key_->place_of(number);
      if (place.length > kMaxKeyBytes)
        throw key_too_long(place.length).at(file_.path(), place.offset);
      const Bytes key = payload_.view(place);
      row_.key_hash = xxh3_64(key);
      draft_.at_key(as_text(key));
      row_.key = checked(place);
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      draft_.report(error, columns_.key->field.name);
    }
  }

  FieldPlace checked(FieldPlace place) {
    if (input_.reads_payload && place.offset != kMissing) place.crc32c = payload_.crc_of(place);
    return place;
  }

  void add_elements(std::size_t field, std::uint64_t number) {
    FieldPlace& list = row_.cells[field].place;
    try {
      const std::vector<FieldPlace> elements = fields_[field].values->elements_of(number, list);
      row_.elements.insert(row_.elements.end(), elements.begin(), elements.end());
    } catch (const Error&) {
      list = {};
      throw;
    }
  }

  void check_text(std::size_t field) {
    const FieldPlace& place = row_.cells[field].place;
    if (place.offset == kMissing || payload_.is_text(place)) return;
    Finding& finding = draft_.begin("a string that is not UTF-8", place.offset);
    finding.length = place.length;
    finding.field = input_.schema.fields[field].name;
    draft_.send();
  }

  const ShardInput& input_;
  const InputFile& file_;
  const RowSink& rows_;
  FindingDraft draft_;
  Hdf5Heap heap_;
  WalkPace pace_;
  Hdf5Payload payload_;
  Hdf5ForeignColumns columns_;
  // Of a field of the schema, as the file has it; without values it is the number of the
  // demonstration, or of the step.
  struct FieldValues {
    explicit FieldValues(const Field& of) : field(of) {}
    const Field& field;
    std::optional<Hdf5Values> values;
  };
  std::deque<FieldValues> fields_;
  // For each field of the schema; null: the file has no such dataset. Empty: it has demonstrations.
  std::vector<const Hdf5ForeignColumn*> column_of_;
  std::int64_t demo_ = 0;
  bool has_begun_ = false;
  std::optional<Hdf5Values> key_;

  IndexRow row_;  // at hand
};

}  // namespace

Survey survey_hdf5_steps(Hdf5Description description, const InputFile& file) {
  Hdf5Steps steps = find_hdf5_steps(std::move(description), file);
  check_steps_lie_in_place(steps, file);
  Survey survey = Survey::of_one_file(std::move(steps.schema), Dialect::robomimic);
  survey.layout.has_keys = false;
  survey.notes = std::move(steps.left.notes);
  survey.left_out = std::move(steps.left.left_out);
  return survey;
}

Survey survey_hdf5_columns(Hdf5Description description, const InputFile& file,
                           const WalkProgress& progress) {
  Hdf5ForeignColumns columns = find_hdf5_columns(std::move(description), file);
  WalkPace pace(progress, file.size());
  for (Hdf5ForeignColumn& column : columns.fields) survey_values(columns, file, pace, column);
  std::optional<std::vector<std::uint64_t>> bases = columns.fixed_bases();
  Survey survey = bases ? Survey::of_columns(columns.schema(), columns.rows, std::move(*bases))
                        : Survey::of_one_file(columns.schema(), Dialect::plain);
  survey.layout.has_keys = columns.key.has_value();
  survey.layout.known_as = columns.layout_name();
  survey.notes = columns.left.notes;
  survey.left_out = columns.left.left_out;
  survey.classes = columns.left.classes;
  return survey;
}

void scan_described_hdf5(const ShardInput& input, const std::function<Hdf5Description()>& describe,
                         const RowSink& rows, const FindingSink& findings) {
  ForeignScanner(input, rows, findings).scan(describe);
}

}  // namespace shale
