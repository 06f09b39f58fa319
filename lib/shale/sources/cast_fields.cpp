#include "shale/sources/cast_fields.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/encoding/sample_transformer.hpp"
#include "shale/numbers/cast_numbers.hpp"
#include "shale/sources/source_over.hpp"

namespace shale {
namespace {

using Numbers = std::vector<std::byte>;

// A field whose numbers become others, one type after the other.
struct CastOfField {
  std::size_t field = 0;
  Field before, after;
  DType from;  // of the numbers as they are read
  std::vector<DType> steps;

  [[nodiscard]] std::uint64_t count_in(std::uint64_t bytes) const {
    return bytes / from.item_bytes();
  }
  [[nodiscard]] std::uint64_t bytes_after(std::uint64_t bytes) const {
    return count_in(bytes) * steps.back().item_bytes();
  }
};

// A number that does not fit, and where it is.
struct FirstUnfit {
  std::string text, key;
  std::uint64_t number = 0;
};

class CastFields final : public SourceOver {
 public:
  CastFields(std::unique_ptr<Source> source, std::vector<std::vector<DType>> steps, bool is_lossy,
             CastWork work)
      : SourceOver(std::move(source)), is_lossy_(is_lossy), work_(std::move(work)) {
    std::vector<FieldName> recorded = field_names_of(info_.fields);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].empty()) continue;
      Field& field = info_.schema.fields[i];
      CastOfField cast{.field = i,
                       .before = field,
                       .after = cast_field(field, steps[i].back()),
                       .from = info_.row_bytes || is_located(field.kind)
                                   ? dtype_of_column(field)
                                   : dtype_of_column({.name = {}, .kind = field.kind}),
                       .steps = std::move(steps[i])};
      if (info_.row_bytes)
        *info_.row_bytes += fixed_bytes_of(cast.after).value() - fixed_bytes_of(field).value();
      for (const DType& dtype : cast.steps) recorded[i].dtypes.push_back(dtype_text(dtype));
      field = cast.after;
      casts_.push_back(std::move(cast));
    }
    info_.fields = field_names_text(recorded);
    info_.leaves_bytes = true;
    // A label that is not an integer any more is a number like others.
    keeps_labels_ = label_of(info_.schema, info_.fields).has_value() ||
                    !label_of(source_->info().schema, source_->info().fields);
    if (!keeps_labels_) info_.labels_are_sorted = false;
    if (!keeps_labels_) info_.classes.clear();
    reading_.container = info_.container;
    reading_.on_damage = info_.on_damage;
    reading_.schema = source_->info().schema;
    for (std::size_t i = 0; i < reading_.schema.fields.size(); ++i) {
      // As a number, which is not read: the others are left where they are.
      if (std::ranges::find(casts_, i, &CastOfField::field) == casts_.end() && !info_.row_bytes)
        reading_.schema.fields[i] = {.name = reading_.schema.fields[i].name, .kind = Kind::integer};
    }
    take_totals();
  }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    std::optional<PendingSample> sample = cast_next(most_rows);
    if (unfit_ > 0 && !is_lossy_) refuse();
    if (!sample) take_totals();
    if (!sample && unfit_ > std::exchange(said_, unfit_)) work_.say(note());
    return sample;
  }
  void skip(std::uint64_t samples) override {
    source_->skip(samples);
    pass(samples);
    has_skipped_ = true;
  }
  void narrow(std::uint64_t first, std::uint64_t samples) override {
    source_->narrow(first, samples);
    info_.scratch_bytes = source_->info().scratch_bytes;
    next_ = first;
    left_ = samples;
  }

 private:
  void take_totals() {
    const SourceInfo& now = source_->info();
    info_.manifest = now.manifest;
    info_.ignored = now.ignored;
    info_.skipped = now.skipped;
    info_.left_out = now.left_out;
    info_.labels = keeps_labels_ ? now.labels : Hash128{};
    if (now.is_stream) info_.notes = now.notes;
  }

  void pass(std::uint64_t samples) {
    next_ += samples;
    if (left_) *left_ -= std::min(*left_, samples);
  }

  std::optional<PendingSample> cast_next(std::uint64_t most_rows) {
    std::optional<PendingSample> sample = source_->next(most_rows);
    if (!sample) return sample;
    if (sample->lacks.empty() && sample->damage.empty()) {
      if (info_.row_bytes)
        cast_run(*sample);
      else
        cast_one(*sample);
    }
    pass(sample->rows);
    return sample;
  }

  // The rest is read for how many numbers do not fit.
  void refuse() {
    constexpr std::uint64_t kBytesAtOnce = 1 << 20;
    const std::uint64_t row_bytes = std::max<std::uint64_t>(1, info_.row_bytes.value_or(1));
    const std::uint64_t rows = std::max<std::uint64_t>(1, kBytesAtOnce / row_bytes);
    while (!left_ || *left_ > 0) {
      work_.stop_if_asked();
      if (!cast_next(std::min(rows, left_.value_or(rows)))) break;
    }
    throw Error(Code::bad_content, "{}", unfit_text())
        .for_sample(first_.key, first_.number)
        .hint("choose another type, or pass --lossy to take the nearest numbers that fit");
  }

  [[nodiscard]] std::string unfit_text() const {
    return fmt::format("{} the type given by --cast; the first is {}",
                       format_counted(unfit_, "number does not fit", "numbers do not fit"),
                       first_.text);
  }
  [[nodiscard]] std::string note() const {
    return fmt::format("{}{}, in sample '{}'; the nearest were taken",
                       has_skipped_ ? "at least " : "", unfit_text(), printable(first_.key));
  }

  // Into memory of its own: of one type after the other.
  Numbers cast(const CastOfField& how, Bytes numbers, const std::string& key,
               std::uint64_t first_number, std::uint64_t in_each) {
    Numbers from, into;
    DType before = how.from;
    for (const DType& dtype : how.steps) {
      const NumberKind kind = number_kind_of(before.descr()), to = number_kind_of(dtype.descr());
      into.resize(numbers.size() / before.item_bytes() * dtype.item_bytes());
      const Unfit unfit = cast_numbers(kind, numbers, to, into);
      if (unfit.count > 0 && unfit_ == 0) {
        first_ = {.text = fmt::format("{} in field '{}', which {} cannot hold",
                                      number_words(kind, before.descr(),
                                                   &numbers[unfit.first * before.item_bytes()]),
                                      printable(how.after.name), dtype_text(dtype)),
                  .key = key,
                  .number = first_number + unfit.first / std::max<std::uint64_t>(1, in_each)};
        if (key.empty()) first_.key = std::to_string(first_.number);
      }
      unfit_ += unfit.count;
      std::swap(from, into);
      numbers = from;
      before = dtype;
    }
    return from;
  }

  // What is read, and what it becomes.
  void refuse_over_memory(std::uint64_t bytes, const PendingSample& sample) const {
    if (bytes <= work_.memory_bytes) return;
    throw over_share("casts of the sample take", bytes, work_.memory_bytes, bytes)
        .for_sample(sample.key, next_);
  }

  void cast_run(PendingSample& run) {
    static const auto kNone = std::make_shared<Numbers>();
    Batch batch = std::exchange(batch_, {});
    PendingSample read = run;
    read.columns.resize(run.cells.size());
    std::uint64_t cast_bytes = batch.bytes = 0;
    for (std::size_t i = 0; i < run.cells.size(); ++i) {
      const auto how = std::ranges::find(casts_, i, &CastOfField::field);
      if (how == casts_.end()) {
        read.columns[i] = kNone;
        continue;
      }
      const std::uint64_t bytes = run.rows * fixed_bytes_of(how->before).value();
      if (read.columns[i] == nullptr) batch.bytes += bytes;
      cast_bytes += how->bytes_after(bytes);
    }
    refuse_over_memory(batch.bytes + cast_bytes, run);
    batch.pending.push_back(std::move(read));
    const std::vector<std::vector<Bytes>> columns = load_runs(batch, reading_, reader_);
    run.columns.resize(run.cells.size());
    for (const CastOfField& how : casts_) {
      const Bytes column = columns.front()[how.field];
      auto numbers = std::make_shared<Numbers>(
          cast(how, column, {}, run.first_number, how.count_in(column.size()) / run.rows));
      run.bytes += numbers->size() - std::min<std::uint64_t>(run.bytes, column.size());
      run.cells[how.field].place.length = numbers->size();
      run.columns[how.field] = std::move(numbers);
      if (how.field < run.swaps.size()) run.swaps[how.field] = {};
    }
    batch.pending.clear();
    batch_ = std::move(batch);
  }

  void cast_one(PendingSample& sample) {
    std::uint64_t bytes = 0, cast_bytes = 0;
    for (const CastOfField& how : casts_) {
      if (!is_located(how.before.kind)) continue;
      bytes += sample.cells[how.field].place.length;
      cast_bytes += how.bytes_after(sample.cells[how.field].place.length);
    }
    refuse_over_memory(bytes + cast_bytes, sample);
    Batch batch = std::exchange(batch_, {});
    batch.first = next_;
    batch.bytes = bytes;
    batch.pending.push_back(values_of(sample));
    std::vector<Sample> read;
    if (bytes > 0) read = load_batch(batch, reading_, reader_);
    sample.damage = batch.pending.front().damage;
    for (const CastOfField& how : casts_) {
      if (sample.damage.empty()) cast_value(how, read, sample);
    }
    std::ranges::stable_sort(sample.known, {}, &KnownValue::field);
    batch.pending.clear();
    batch_ = std::move(batch);
  }

  // What is to be read of a sample.
  [[nodiscard]] PendingSample values_of(const PendingSample& sample) const {
    PendingSample values;
    values.key = sample.key;
    values.cells = sample.cells;
    values.archive = sample.archive;
    const auto is_cast = [&](std::size_t field) {
      return std::ranges::find(casts_, field, &CastOfField::field) != casts_.end();
    };
    std::ranges::copy_if(sample.files, std::back_inserter(values.files), is_cast,
                         &PendingFile::field);
    std::ranges::copy_if(sample.known, std::back_inserter(values.known), is_cast,
                         &KnownValue::field);
    values.descriptors = sample.descriptors;
    values.keeps_open = sample.keeps_open;
    values.has_crc32c = sample.has_crc32c;
    values.unproved = sample.unproved;
    return values;
  }

  void cast_value(const CastOfField& how, const std::vector<Sample>& read, PendingSample& sample) {
    IndexCell& cell = sample.cells[how.field];
    const bool is_absent = how.before.is_optional && shale::is_absent(cell, how.before) &&
                           std::ranges::count(sample.known, how.field, &KnownValue::field) == 0;
    Bytes numbers;
    if (is_located(how.before.kind)) {
      if (!is_absent && !read.empty()) numbers = std::get<Bytes>(read.front().values[how.field]);
      sample.bytes -= std::min(sample.bytes, is_absent ? 0 : cell.place.length);
    } else {
      numbers = how.before.kind == Kind::real ? bytes_of(cell.real) : bytes_of(cell.integer);
    }
    const Numbers made = is_absent ? Numbers() : cast(how, numbers, sample.key, next_, 0);
    std::erase_if(sample.known, [&](const auto& known) { return known.field == how.field; });
    std::erase_if(sample.files, [&](const auto& file) { return file.field == how.field; });
    IndexCell after;
    if (!is_located(how.after.kind)) {
      if (!is_absent) after = read_number(made, how.after);
      after.lacks_number = is_absent;
    } else if (is_absent) {
      after.place.offset = kMissing;
    } else {
      after.place.length = made.size();
      sample.bytes += made.size();
      sample.known.push_back({how.field, std::string(as_text(made))});
    }
    cell = after;
  }

  const bool is_lossy_;
  const CastWork work_;
  std::vector<CastOfField> casts_;
  SourceInfo reading_;  // of the source, as far as its values are read here
  BatchReader reader_{{.depth = 8, .threads = 1, .backend = BatchReader::Backend::threads}};
  Batch batch_;  // its memory is used again
  std::uint64_t next_ = 0, unfit_ = 0, said_ = 0;
  std::optional<std::uint64_t> left_;  // where only some of the samples are asked for
  FirstUnfit first_;
  bool keeps_labels_ = true, has_skipped_ = false;
};

}  // namespace

std::unique_ptr<Source> make_cast_fields(std::unique_ptr<Source> source, const FieldChoice& choice,
                                         const CastWork& work) {
  std::vector<std::vector<DType>> steps = casts_of(choice, source->info().schema);
  if (std::ranges::all_of(steps, [](const auto& types) { return types.empty(); })) return source;
  return std::make_unique<CastFields>(std::move(source), std::move(steps), choice.is_lossy, work);
}

}  // namespace shale
