#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/parquet/parquet_slots.hpp"

#include "formats/parquet/parquet_foreign.hpp"

namespace shale {
namespace {

// What the levels of a column say of all rows.
struct ColumnFacts {
  std::uint64_t rows = 0, absent = 0;
  std::uint64_t absent_elements = 0;  // of lists, and inner lists that are not there
  // How many elements the lists have: the same number, or kFreeSide; none where there is no list.
  std::optional<std::uint64_t> length, inner_length;
  bool has_uneven_rows = false;  // inner lists of one row differ
  [[nodiscard]] bool has_values() const { return absent < rows; }
};

void meet(std::optional<std::uint64_t>& length, std::uint64_t found) {
  length = !length || *length == found ? found : kFreeSide;
}

class ParquetSurvey {
 public:
  explicit ParquetSurvey(const PackedSurvey& request)
      : request_(request),
        file_(request.file),
        pace_(request.progress, file_.size()),
        window_(file_),
        view_(window_.views()),
        parquet_(describe_foreign_parquet(file_)),
        expansion_(expansion_within(file_, request.memory_bytes)) {}

  Survey run() try { return survey(); } catch (Error& error) {
    add_memory_hint(error, parquet_, expansion_);
    throw;
  }

 private:
  Survey survey() {
    refuse_what_is_unpacked();
    LostRanges lost;
    if (request_.takes_damaged) lost = drop_damaged();
    for (const ParquetForeignField& field : parquet_.fields) {
      if (!field.is_usable()) {
        leave_out(field);
        facts_.emplace_back();
        continue;
      }
      facts_.push_back(facts_of(field));
    }
    refuse_what_is_unpacked();
    const bool has_keys = parquet_.key && are_keys(*parquet_.key);
    Survey survey = Survey::of_one_file(schema(has_keys), Dialect::plain);
    survey.layout.has_keys = survey.schema.has_keys = has_keys;
    if (survey.schema.fields.empty()) {
      Error error(Code::unsupported, "has no column that can be a field");
      error.at(file_.path()).because(notes_.empty() ? "" : notes_.front());
      if (std::ranges::count(parquet_.fields, "codec", &ParquetForeignField::obstacle) > 0)
        error.hint(fmt::format(
            "write it again with another codec: python3 -c \"import pyarrow.parquet as q; "
            "q.write_table(q.read_table('{}'), 'x.parquet')\" && shale info x.parquet",
            printable(file_.path())));
      throw error;
    }
    place_parts(survey, has_keys);
    survey.notes = std::move(notes_);
    for (std::string& note : parquet_.notes) survey.notes.push_back(std::move(note));
    left_out_.add(parquet_.left_out);
    survey.left_out = std::move(left_out_);
    survey.classes = std::move(parquet_.classes);
    survey.lost = std::move(lost);
    return survey;
  }

  LostRanges drop_damaged() {
    std::vector<std::size_t> usable;
    for (std::size_t i = 0; i < parquet_.fields.size(); ++i) {
      if (parquet_.fields[i].is_usable()) usable.push_back(i);
    }
    return drop_damaged_groups(file_, parquet_, usable, request_.progress, expansion_);
  }

  void leave_out(const ParquetForeignField& field) {
    left_out_.add({.kind = "column", .name = field.path, .reason = field.obstacle});
    notes_.push_back(fmt::format("column '{}' is left out: {}", printable(field.path), field.why));
  }

  // Statistics are believed where they say that nothing is missing: the scan finds out.
  [[nodiscard]] bool is_said_to_be_full(const ParquetForeignField& field) const {
    const bool may_lie = request_.takes_damaged;
    if (may_lie || parquet_.columns[field.column].most_repetition > 0) return false;
    return std::ranges::all_of(parquet_.footer.row_groups, [&](const ParquetRowGroup& group) {
      return group.chunks[field.column].nulls == 0;
    });
  }

  ColumnFacts facts_of(const ParquetForeignField& field) {
    const ParquetColumn& column = parquet_.columns[field.column];
    ColumnFacts facts;
    if (column.most_definition == 0 || is_said_to_be_full(field)) {
      facts.rows = static_cast<std::uint64_t>(parquet_.footer.rows);
      return facts;
    }
    ParquetSlots slots(view_, file_.path(), column, ParquetSlots::Use::levels,
                       parquet_.footer_begin);
    slots.count_in(expansion_);
    for (const ParquetRowGroup& group : parquet_.footer.row_groups) {
      slots.open(group.chunks[field.column]);
      for (std::int64_t row = 0; row < group.rows && slots.next(); ++row) {
        pace_.step();
        ++facts.rows;
        column.most_repetition == 0 ? meet_value(slots, facts) : meet_list(slots, column, facts);
      }
    }
    return facts;
  }

  static void meet_value(const ParquetSlots& slots, ColumnFacts& facts) {
    facts.absent += slots.has_value() ? 0 : 1;
  }

  void meet_list(ParquetSlots& slots, const ParquetColumn& column, ColumnFacts& facts) {
    const std::uint32_t element = column.element_levels[0];
    const bool is_nested = column.most_repetition > 1;
    if (slots.definition() + 1 < element) {
      ++facts.absent;
      return;
    }
    constexpr std::uint64_t kSlotsOfStep = 256;
    std::uint64_t elements = 0, inner = 0, slots_of_row = 0;
    std::optional<std::uint64_t> of_row;
    while (true) {
      const bool begins_element = slots.repetition() <= 1;
      if (begins_element && elements > 0 && is_nested) meet(of_row, inner);
      if (begins_element) inner = 0;
      if (slots.definition() >= element && begins_element) ++elements;
      if (is_nested) {
        if (slots.definition() >= element && slots.definition() + 1 < column.element_levels[1])
          ++facts.absent_elements;
        if (slots.definition() >= column.element_levels[1]) {
          ++inner;
          facts.absent_elements += slots.has_value() ? 0 : 1;
        }
      } else if (slots.definition() >= element) {
        facts.absent_elements += slots.has_value() ? 0 : 1;
      }
      if (!slots.row_goes_on()) break;
      if (++slots_of_row % kSlotsOfStep == 0) pace_.step();
      if (!slots.next()) break;
    }
    if (is_nested && elements > 0) meet(of_row, inner);
    meet(facts.length, elements);
    if (!of_row) return;
    facts.has_uneven_rows = facts.has_uneven_rows || *of_row == kFreeSide;
    meet(facts.inner_length, *of_row);
  }

  // Statistics are believed where they say that all is missing: then the levels are read.
  [[nodiscard]] bool is_said_to_be_empty(const ParquetForeignField& field) const {
    return std::ranges::all_of(parquet_.footer.row_groups, [&](const ParquetRowGroup& group) {
      const ParquetChunk& chunk = group.chunks[field.column];
      return chunk.nulls == chunk.slots;
    });
  }

  // Before anything is read, for what was read afterwards.
  void refuse_what_is_unpacked() const {
    for (std::size_t i = 0; i < parquet_.fields.size(); ++i) {
      const ParquetForeignField& field = parquet_.fields[i];
      if (!field.is_usable()) continue;
      if (!facts_.empty()) refuse_paths_alone(i);
      if (request_.takes_packed || !has_to_be_unpacked(parquet_, field)) continue;
      if (facts_.empty() && is_said_to_be_empty(field)) continue;
      throw Error(Code::unsupported,
                  "the values of column '{}' are compressed or joined, so they cannot be located "
                  "in place",
                  printable(field.path))
          .at(file_.path())
          .hint(fmt::format("'shale convert {} OUT --to record' decompresses and converts it",
                            shell_word(file_.path())));
    }
  }

  // As Dataset.to_parquet of `datasets` leaves them: paths on the machine of whoever wrote it.
  void refuse_paths_alone(std::size_t i) const {
    const ParquetForeignField& field = parquet_.fields[i];
    if (!field.path.ends_with("bytes") || facts_[i].rows == 0 || facts_[i].has_values()) return;
    const auto path = std::ranges::find_if(parquet_.fields, [&](const ParquetForeignField& other) {
      return other.is_path_of_media && other.column == field.column + 1;
    });
    if (path == parquet_.fields.end()) return;
    const auto number = static_cast<std::size_t>(path - parquet_.fields.begin());
    if (!facts_[number].has_values()) return;
    throw Error(Code::unsupported,
                "holds no bytes of '{}', only the paths of files where it was written",
                printable(field.field.name))
        .at(file_.path())
        .hint(
            "write it again with the files in it: in Python, 'from datasets.table import "
            "embed_table_storage; ds.with_format(\"arrow\").map(embed_table_storage, "
            "batched=True).to_parquet(FILE)'");
  }

  // Whether the values of a column are there, short, and each another.
  bool are_keys(std::size_t number) {
    const ParquetForeignField& field = parquet_.fields[number];
    if (facts_[number].absent > 0 || facts_[number].rows == 0) return false;
    std::unordered_set<std::uint64_t> hashes;
    ParquetSlots slots(view_, file_.path(), parquet_.columns[field.column],
                       ParquetSlots::Use::values, parquet_.footer_begin);
    slots.count_in(expansion_);
    for (const ParquetRowGroup& group : parquet_.footer.row_groups) {
      slots.open(group.chunks[field.column]);
      while (slots.next()) {
        if (!slots.has_value()) return false;
        const Bytes key = slots.value();
        const bool is_key = !key.empty() && key.size() <= kMaxKeyBytes;
        if (!is_key || hashes.size() == kMostKeys || !hashes.insert(xxh3_64(key)).second)
          return false;
      }
    }
    return true;
  }

  Schema schema(bool has_keys) {
    Schema schema;
    for (std::size_t i = 0; i < parquet_.fields.size(); ++i) {
      const ParquetForeignField& field = parquet_.fields[i];
      const ColumnFacts& facts = facts_[i];
      if (!field.is_usable() || (has_keys && parquet_.key == i)) continue;
      // Most files have no paths.
      if (field.is_path_of_media && facts.rows > 0 && !facts.has_values()) continue;
      Field made = field.field;
      made.is_optional = facts.absent > 0;
      if (facts.absent_elements > 0) {
        leave_out_lists(field, "absent_elements", "elements of its lists are not there");
        continue;
      }
      if (made.kind == Kind::tensor && made.shape.size() > 1 && facts.has_uneven_rows) {
        leave_out_lists(field, "nested_list", "its lists of lists are not rectangular");
        continue;
      }
      if (made.kind == Kind::tensor && !made.shape.empty()) {
        made.shape[0] = facts.length.value_or(kFreeSide);
        if (made.shape.size() > 1) made.shape[1] = facts.inner_length.value_or(kFreeSide);
      }
      taken_.push_back(i);
      schema.fields.push_back(std::move(made));
    }
    return schema;
  }

  void leave_out_lists(ParquetForeignField field, std::string code, std::string why) {
    field.obstacle = std::move(code);
    field.why = std::move(why);
    leave_out(field);
  }

  // What does not lie in the file is next to its index.
  void place_parts(Survey& survey, bool has_keys) const {
    const auto part_of = [&](std::size_t i) {
      return lies_in_file(parquet_, parquet_.fields[i]) ? 0U : 1U;
    };
    ShardLayout& layout = survey.layout;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (is_located(survey.schema.fields[i].kind)) layout.field_part[i] = part_of(taken_[i]);
    }
    if (has_keys) layout.key_part = part_of(*parquet_.key);
    layout.has_values = layout.key_part == 1 || std::ranges::count(layout.field_part, 1U) > 0;
    if (layout.has_values) layout.part_file = {0, 1};
  }

  static constexpr std::size_t kMostKeys = 4 << 20;

  const PackedSurvey& request_;
  const InputFile& file_;
  WalkPace pace_;
  WindowReader window_;
  ViewBytes view_;
  ParquetForeignFile parquet_;
  ParquetExpansion expansion_;
  std::vector<ColumnFacts> facts_;  // one per field
  std::vector<std::size_t> taken_;  // the fields of the schema
  std::vector<std::string> notes_;
  LeftOutList left_out_;
};

}  // namespace

Survey survey_packed_parquet(const PackedSurvey& request) { return ParquetSurvey(request).run(); }

Survey survey_parquet(const InputFile& file, const Parsing&, const WalkProgress& progress) {
  return survey_packed_parquet({.file = file, .progress = progress});
}

Survey salvage_parquet(const InputFile& file, const Parsing&, const WalkProgress& progress) {
  return survey_packed_parquet({.file = file, .progress = progress, .takes_damaged = true});
}

}  // namespace shale
