#include "shale/sources/cast_fields.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/numbers/casts.hpp"
#include "shale/sources/source_over.hpp"

namespace shale {
namespace {

class CastFields final : public SourceOver {
 public:
  CastFields(std::unique_ptr<Source> source, const std::vector<std::vector<DType>>& steps)
      : SourceOver(std::move(source)) {
    std::vector<FieldName> recorded = field_names_of(info_.fields);
    std::vector<FieldNumbersCast> read;
    Schema input = info_.schema;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].empty()) continue;
      Field& field = info_.schema.fields[i];
      for (const DType& dtype : steps[i]) recorded[i].dtypes.push_back(dtype_text(dtype));
      if (info_.row_bytes || is_located(field.kind)) {
        const FieldNumbersCast& cast = read.emplace_back(i, field, steps[i]);
        if (info_.row_bytes)
          *info_.row_bytes += fixed_bytes_of(cast.after()).value() - fixed_bytes_of(field).value();
        field = cast.after();
      } else {
        // As a cell holds it, whatever its type was.
        numbers_.emplace_back(
            i, Field{.name = field.name, .kind = field.kind, .is_optional = field.is_optional},
            steps[i]);
        field = input.fields[i] = numbers_.back().after();
      }
    }
    info_.fields = field_names_text(recorded);
    info_.leaves_bytes = true;
    // A label that is not an integer any more is a number like others.
    keeps_labels_ = label_of(info_.schema, info_.fields).has_value() ||
                    !label_of(source_->info().schema, source_->info().fields);
    if (!keeps_labels_) info_.labels_are_sorted = false;
    if (!keeps_labels_) info_.classes.clear();
    if (!read.empty()) info_.casts = std::make_shared<Casts>(std::move(input), std::move(read));
    if (info_.largest) cast(*info_.largest);
    take_totals();
  }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    std::optional<PendingSample> sample = source_->next(most_rows);
    if (sample)
      cast(*sample);
    else
      take_totals();
    return sample;
  }
  void narrow(std::uint64_t first, std::uint64_t samples) override {
    source_->narrow(first, samples);
    info_.scratch_bytes = source_->info().scratch_bytes;
  }

 private:
  void take_totals() {
    SourceOver::take_totals();
    if (!keeps_labels_) info_.labels = {};
  }

  void cast(PendingSample& sample) const {
    if (!sample.lacks.empty() || !sample.damage.empty()) return;
    UnfitNumbers unfit;
    for (const FieldNumbersCast& how : numbers_) cast_number(how, sample, unfit);
    if (unfit.count > 0) sample.unfit = std::make_shared<UnfitNumbers>(std::move(unfit));
    if (!info_.casts) return;
    for (const FieldNumbersCast& how : info_.casts->fields()) {
      IndexCell& cell = sample.cells[how.field()];
      const bool is_absent =
          !info_.row_bytes && cell.place.offset == kMissing && !holds(sample, how.field());
      if (!is_located(how.after().kind)) cell.lacks_number = is_absent;
      if (is_absent) continue;
      cell.place.length = how.bytes_after(cell.place.length);
      sample.bytes += cell.place.length;
    }
  }

  // A value that is not at a place of its own.
  [[nodiscard]] static bool holds(const PendingSample& sample, std::size_t field) {
    return std::ranges::count(sample.files, field, &PendingFile::field) > 0 ||
           std::ranges::count(sample.known, field, &KnownValue::field) > 0;
  }

  static void cast_number(const FieldNumbersCast& how, PendingSample& sample, UnfitNumbers& unfit) {
    const IndexCell cell = std::exchange(sample.cells[how.field()], {});
    IndexCell& after = sample.cells[how.field()];
    const bool is_place = is_located(how.after().kind);
    after.lacks_number = cell.lacks_number && !is_place;
    if (cell.lacks_number) {
      if (is_place) after.place.offset = kMissing;
      return;
    }
    const Bytes number =
        how.before().kind == Kind::real ? bytes_of(cell.real) : bytes_of(cell.integer);
    std::string made(how.bytes_after(number.size()), '\0');
    how.run(number, std::as_writable_bytes(std::span(made)), unfit);
    if (!is_place) {
      after = read_number(as_bytes(made), how.after());
      return;
    }
    after.place.length = made.size();
    sample.bytes += made.size();
    const auto at = std::ranges::upper_bound(sample.known, how.field(), {}, &KnownValue::field);
    sample.known.insert(at, {how.field(), std::move(made)});
  }

  std::vector<FieldNumbersCast> numbers_;  // of the cells of samples
  bool keeps_labels_ = true;
};

}  // namespace

std::unique_ptr<Source> make_cast_fields(std::unique_ptr<Source> source,
                                         const FieldChoice& choice) {
  const std::vector<std::vector<DType>> steps = casts_of(choice, source->info().schema);
  if (std::ranges::all_of(steps, [](const auto& types) { return types.empty(); })) return source;
  return std::make_unique<CastFields>(std::move(source), steps);
}

}  // namespace shale
