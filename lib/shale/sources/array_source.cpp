#include "shale/sources/array_source.hpp"

#include <algorithm>
#include <utility>

#include "shale/arrays/array_rows.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/datasets/file_fingerprint.hpp"
#include "shale/datasets/lost_samples.hpp"

namespace shale {
namespace {

// A column under way: its arrays, and which of them row 0 of the next run is in.
struct OpenColumn {
  std::vector<ArrayRows> arrays;
  std::vector<std::uint64_t> first_row;  // of each array
  [[nodiscard]] std::size_t holding(std::uint64_t row) const {
    const auto after = std::upper_bound(first_row.begin(), first_row.end(), row);
    return static_cast<std::size_t>(after - first_row.begin()) - 1;
  }
};

class ArraySource final : public Source {
 public:
  ArraySource(ArrayRequest request, const Events& events)
      : request_(std::move(request)), events_(events) {
    const std::vector<ArrayColumn>& columns = request_.arrays.columns;
    rows_ = columns.front().rows();
    info_.notes = request_.arrays.notes;
    info_.left_out = request_.arrays.left_out;
    info_.classes = request_.arrays.classes;
    std::string facts = "arrays\n";
    for (const std::string& name : info_.classes) facts += fmt::format("class {}\n", name);
    std::uint64_t row_bytes = 0;
    for (const ArrayColumn& column : columns) {
      const ArrayFile& first = column.arrays.front();
      info_.schema.fields.push_back(
          field_of_column(column.name, first.dtype, {first.shape.begin() + 1, first.shape.end()}));
      const std::uint64_t stride = fixed_bytes_of(info_.schema.fields.back()).value();
      row_bytes += stride;
      open(column, stride, facts);
    }
    std::ranges::stable_sort(lost_, {}, [](const LostSamples& one) { return one.range.before; });
    try {
      refuse_empty_rows(info_.schema, rows_);
    } catch (Error& error) {
      error.at(columns.front().arrays.front().path());
      throw;
    }
    info_.schema.has_keys = false;
    validate_schema(info_.schema);
    std::size_t fortran = 0;
    for (const OpenColumn& column : columns_)
      fortran += std::any_of(column.arrays.begin(), column.arrays.end(),
                             [](const ArrayRows& rows) { return rows.is_fortran(); })
                     ? 1
                     : 0;
    if (fortran > 0) {
      info_.memory_bytes = request_.memory_bytes;
      fortran_bytes_ = std::max(kLeastFortranMemory, request_.memory_bytes / fortran);
    }
    note_what_is_put_in_order();
    info_.row_bytes = row_bytes;
    info_.keys_are_unique = true;
    if (!lost_.empty()) info_.on_damage = OnDamage::leave_out;
    info_.manifest = {.kind = std::string(kArrays),
                      .samples = count_samples(),
                      .bytes = rows_ * row_bytes,
                      .fingerprint = xxh3_128(as_bytes(facts))};
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    if (position_ == rows_) return std::nullopt;
    PendingSample run;
    run.first_number = position_;
    run.rows = std::min(most_rows, rows_ - position_);
    for (const LostSamples& lost : lost_) {
      const std::uint64_t begin = lost.range.before, end = begin + lost.range.samples;
      if (begin <= position_ && position_ < end) {
        PendingSample rows = lost_sample(lost, position_, info_.schema);
        position_ = end;
        return rows;
      }
      if (begin > position_) run.rows = std::min(run.rows, begin - position_);
    }
    for (const OpenColumn& column : columns_) {
      const std::size_t array = column.holding(run.first_number);
      const std::uint64_t end = column.first_row[array] + column.arrays[array].rows();
      run.rows = std::min(run.rows, end - run.first_number);
    }
    for (OpenColumn& column : columns_) {
      const std::size_t array = column.holding(run.first_number);
      column.arrays[array].take(run.first_number - column.first_row[array], run.rows,
                                fortran_bytes_, run, events_);
    }
    position_ += run.rows;
    return run;
  }

  // Streams are read from their beginning.
  void skip(std::uint64_t samples) override {
    if (!lost_.empty()) return Source::skip(samples);
    for (const OpenColumn& column : columns_) {
      if (!std::ranges::all_of(column.arrays, &ArrayRows::is_located)) return Source::skip(samples);
    }
    if (samples > rows_ - position_) return Source::skip(samples);
    position_ += samples;
  }

 private:
  // Of a set of files all may be big-endian, or in Fortran order.
  void note_what_is_put_in_order() {
    constexpr std::uint64_t kMostNotes = 16;
    std::uint64_t count = 0;
    for (const OpenColumn& column : columns_) {
      for (const ArrayRows& array : column.arrays) {
        for (std::string& note : array.notes(fortran_bytes_)) {
          if (++count <= kMostNotes) info_.notes.push_back(std::move(note));
        }
      }
    }
    if (count > kMostNotes)
      info_.notes.push_back(
          fmt::format("{} more arrays are read in these ways", format_count(count - kMostNotes)));
  }

  // What tells one array from another of its shape: folds, seeds and splits come in equal ones.
  [[nodiscard]] std::string content_of(const ArrayFile& array) const {
    if (array.archived) return fmt::format("crc32 {:08x}", array.archived->crc32);
    return hex_of(fingerprint_of(*array.file, [this] { events_.stop_if_asked(); }));
  }

  // Paths and times are not part of the facts; names, types, order, sizes and samples of the
  // content are.
  void open(const ArrayColumn& column, std::uint64_t stride, std::string& facts) {
    OpenColumn& opened = columns_.emplace_back();
    std::uint64_t rows = 0;
    for (const ArrayFile& array : column.arrays) {
      facts += fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", column.name, array.dtype.descr(),
                           array.swaps.size(), array.fortran_order, array.shape.front(), stride);
      for (const std::uint64_t step : array.strides) facts += fmt::format("{} ", step);
      facts += content_of(array) + "\n";
      // Arrays without rows hold none of any run.
      if (array.shape.front() == 0) continue;
      opened.first_row.push_back(rows);
      if (array.whole_rows) lose_rows(array, rows);
      rows += array.shape.front();
      opened.arrays.emplace_back(array, stride, request_.scratch_folder);
    }
  }

  // Of a truncated file.
  void lose_rows(const ArrayFile& array, std::uint64_t first) {
    const std::uint64_t all = array.shape.front(), whole = array.whole_rows.value();
    const std::uint64_t end = array.data_offset + array.bytes() / all * whole;
    lost_.push_back(
        {array.file->path(),
         {.offset = end,
          .length = array.file->size() - end,
          .before = first + whole,
          .samples = all - whole,
          .why = fmt::format("the file ends {} row {} of {}",
                             end == array.file->size() ? "before" : "in", whole, all)}});
    info_.notes.push_back(fmt::format("{} is truncated: {} of its {} rows {} left out",
                                      printable(array.file->path()), all - whole, all,
                                      all - whole == 1 ? "is" : "are"));
  }

  // How many samples next() gives: a range of lost rows is one.
  [[nodiscard]] std::uint64_t count_samples() const {
    std::uint64_t samples = 0, row = 0;
    for (const LostSamples& one : lost_) {
      const std::uint64_t end = one.range.before + one.range.samples;
      if (end <= row) continue;
      samples += one.range.before > row ? one.range.before - row + 1 : 1;
      row = end;
    }
    return samples + rows_ - row;
  }

  const ArrayRequest request_;
  const Events& events_;
  SourceInfo info_;
  std::vector<LostSamples> lost_;  // of truncated files: `before` counts the lost ones, too
  std::vector<OpenColumn> columns_;
  std::uint64_t rows_ = 0, position_ = 0, fortran_bytes_ = kLeastFortranMemory;
};

}  // namespace

std::unique_ptr<Source> open_array_source(ArrayRequest request, const Events& events) {
  return std::make_unique<ArraySource>(std::move(request), events);
}

}  // namespace shale
