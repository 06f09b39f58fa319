#include "shale/numbers/casts.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/numbers/cast_numbers.hpp"

namespace shale {
namespace {

// Rows are in order, but those of another field may come after.
void add_row(UnfitNumbers& unfit, std::uint64_t row, std::uint64_t count) {
  const auto at = std::ranges::lower_bound(unfit.rows, row, {},
                                           &std::pair<std::uint64_t, std::uint64_t>::first);
  if (at != unfit.rows.end() && at->first == row)
    at->second += count;
  else
    unfit.rows.insert(at, {row, count});
}

}  // namespace

FieldNumbersCast::FieldNumbersCast(std::size_t field, Field before, std::vector<DType> steps)
    : field_(field),
      before_(std::move(before)),
      after_(cast_field(before_, steps.back())),
      from_(dtype_of_column(before_)),
      steps_(std::move(steps)) {}

std::uint64_t FieldNumbersCast::bytes_before(std::uint64_t after) const {
  return after / steps_.back().item_bytes() * from_.item_bytes();
}

std::uint64_t FieldNumbersCast::bytes_after(std::uint64_t before) const {
  return before / from_.item_bytes() * steps_.back().item_bytes();
}

void FieldNumbersCast::run(Bytes numbers, std::span<std::byte> into, UnfitNumbers& unfit) const {
  std::vector<std::byte> between, next;
  const DType* from = &from_;
  for (const DType& to : steps_) {
    const bool is_last = &to == &steps_.back();
    if (!is_last) next.resize(numbers.size() / from->item_bytes() * to.item_bytes());
    const std::span<std::byte> made = is_last ? into : std::span(next);
    const Unfit found = cast_numbers(*from, numbers, to, made);
    if (found.count > 0 && unfit.count == 0) {
      unfit.first =
          fmt::format("{} in field '{}', which {} cannot hold",
                      cast_number_words(*from, &numbers[found.first * from->item_bytes()]),
                      printable(after_.name), dtype_text(to));
    }
    unfit.count += found.count;
    std::swap(between, next);
    numbers = between;
    from = &to;
  }
}

void FieldNumbersCast::run_rows(Bytes numbers, std::uint64_t rows, std::span<std::byte> into,
                                UnfitNumbers& unfit) const {
  UnfitNumbers all;
  run(numbers, into, all);
  if (all.count == 0) return;
  const std::uint64_t before = numbers.size() / rows, after = into.size() / rows;
  for (std::uint64_t row = 0; row < rows; ++row) {
    UnfitNumbers of_row;
    run(numbers.subspan(row * before, before), into.subspan(row * after, after), of_row);
    if (of_row.count == 0) continue;
    if (unfit.rows.empty() || row < unfit.rows.front().first) unfit.first = of_row.first;
    add_row(unfit, row, of_row.count);
  }
  unfit.count += all.count;
}

Casts::Casts(Schema input, std::vector<FieldNumbersCast> fields)
    : input_(std::move(input)), fields_(std::move(fields)) {}

const FieldNumbersCast* Casts::of(std::size_t field) const {
  const auto found = std::ranges::find(fields_, field, &FieldNumbersCast::field);
  return found == fields_.end() ? nullptr : &*found;
}

}  // namespace shale
