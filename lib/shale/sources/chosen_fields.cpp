#include "shale/sources/chosen_fields.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/sources/cast_fields.hpp"
#include "shale/sources/source_over.hpp"

namespace shale {
namespace {

class ChosenFields final : public SourceOver {
 public:
  ChosenFields(std::unique_ptr<Source> source, const FieldChoice& choice,
               std::vector<std::size_t> fields, const std::vector<std::string>& names)
      : SourceOver(std::move(source)), choice_(choice), fields_(std::move(fields)) {
    // The digests cover the names: values are then proved one by one, or by their files.
    if (info_.digest) source_->narrow(0, info_.manifest.samples);
    const Schema& whole = source_->info().schema;
    const std::vector<FieldName> before = field_names_of(info_.fields);
    std::vector<FieldName> recorded;
    place_of_.resize(whole.fields.size());
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      place_of_[fields_[i]] = i;
      const std::string& name = whole.fields[fields_[i]].name;
      const auto renamed = std::ranges::find(before, name, &FieldName::name);
      recorded.push_back(renamed == before.end() ? FieldName{name, names[i]} : *renamed);
      recorded.back().name = names[i];
    }
    describe(recorded, names);
  }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    std::optional<PendingSample> sample = source_->next(most_rows);
    if (sample && !takes_all_) return chosen_of(std::move(*sample));
    if (!sample) take_totals();
    return sample;
  }

  void narrow(std::uint64_t first, std::uint64_t samples) override {
    source_->narrow(first, samples);
    info_.scratch_bytes = source_->info().scratch_bytes;
  }

 private:
  void describe(const std::vector<FieldName>& recorded, const std::vector<std::string>& names) {
    const SourceInfo& whole = source_->info();
    takes_all_ = std::ranges::is_sorted(fields_) && fields_.size() == whole.schema.fields.size();
    takes_labels_ = recorded.empty() || !label_of(whole.schema, whole.fields) ||
                    place_of_[*label_of(whole.schema, whole.fields)].has_value();
    info_.fields = field_names_text(recorded);
    info_.schema.fields.clear();
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      Field& field = info_.schema.fields.emplace_back(whole.schema.fields[fields_[i]]);
      field.name = names[i];
    }
    info_.image_fields.clear();
    for (const std::size_t field : whole.image_fields) {
      if (place_of_[field]) info_.image_fields.push_back(*place_of_[field]);
    }
    std::ranges::sort(info_.image_fields);
    info_.digest.reset();
    info_.leaves_bytes = whole.leaves_bytes || fields_.size() < whole.schema.fields.size();
    if (info_.largest && !takes_all_) info_.largest = chosen_of(std::move(*info_.largest));
    if (!takes_labels_) {
      info_.classes.clear();
      info_.labels_are_sorted = false;
    }
    take_totals();
  }

  void take_totals() {
    SourceOver::take_totals();
    info_.left_out = without_dropped(choice_, std::move(info_.left_out));
    if (!takes_labels_) info_.labels = {};
  }

  // Of files and archives: datasets and arrays leave out themselves what is not taken.
  [[nodiscard]] PendingSample chosen_of(PendingSample&& whole) const {
    PendingSample sample = std::move(whole);
    const Schema& schema = source_->info().schema;
    if (!sample.elements.empty() || sample.rows > 1)
      throw Error(Code::bug, "fields of a dataset are left out behind it");
    const std::vector<std::uint64_t> sides = std::exchange(sample.sides, {});
    std::vector<std::span<const std::uint64_t>> shapes(schema.fields.size());
    if (!sides.empty()) {
      ShapeWalk walk(sides);
      for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i] = walk.next(schema.fields[i]);
    }
    const std::vector<IndexCell> cells = std::exchange(sample.cells, {});
    const std::vector<int> descriptors = std::exchange(sample.descriptors, {});
    for (const std::size_t field : fields_) {
      sample.cells.push_back(cells[field]);
      if (field < descriptors.size()) sample.descriptors.push_back(descriptors[field]);
      if (schema.fields[field].is_ragged() && !sides.empty())
        sample.sides.insert(sample.sides.end(), shapes[field].begin(), shapes[field].end());
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!place_of_[i] && is_located(schema.fields[i].kind))
        sample.bytes -= std::min(sample.bytes, cells[i].place.length);
    }
    if (!lacks_any_of(fields_, sample, schema)) sample.lacks.clear();
    move_fields(sample.files, &PendingFile::field);
    move_fields(sample.known, &KnownValue::field);
    return sample;
  }

  template <class Value>
  void move_fields(std::vector<Value>& values, std::size_t Value::*field) const {
    std::erase_if(values, [&](const Value& value) { return !place_of_[value.*field]; });
    for (Value& value : values) value.*field = *place_of_[value.*field];
    std::ranges::stable_sort(values, {}, field);
  }

  const FieldChoice choice_;
  const std::vector<std::size_t> fields_;             // of the source, in the new order
  std::vector<std::optional<std::size_t>> place_of_;  // of each field of the source
  bool takes_all_ = true, takes_labels_ = true;
};

}  // namespace

bool lacks_any_of(std::span<const std::size_t> fields, const PendingSample& sample,
                  const Schema& schema) {
  if (sample.lacks.empty()) return false;
  return !std::ranges::all_of(fields, [&](std::size_t field) {
    const Field& taken = schema.fields[field];
    const bool is_beside_files = taken.is_optional || !is_located(taken.kind);
    return std::ranges::count(sample.files, field, &PendingFile::field) > 0 ||
           std::ranges::count(sample.known, field, &KnownValue::field) > 0 ||
           (is_beside_files && !sample.lacks_row);
  });
}

std::unique_ptr<Source> make_chosen_fields(std::unique_ptr<Source> source,
                                           const FieldChoice& choice, const std::string& input) {
  if (choice.is_empty()) return source;
  const SourceInfo& info = source->info();
  try {
    std::vector<std::size_t> fields = taken_fields(choice, info.schema, info.left_out);
    const std::vector<std::string> names = new_names(choice, info.schema, fields);
    source = std::make_unique<ChosenFields>(std::move(source), choice, std::move(fields), names);
    return make_cast_fields(std::move(source), choice);
  } catch (Error& error) {
    error.at(input);
    throw;
  }
}

std::unique_ptr<Source> make_recorded_fields(std::unique_ptr<Source> source,
                                             const std::string& recorded,
                                             const std::string& input) {
  const SourceInfo& info = source->info();
  const FieldChoice choice = recorded_choice(recorded, info.schema, info.fields);
  return make_chosen_fields(std::move(source), choice, input);
}

}  // namespace shale
