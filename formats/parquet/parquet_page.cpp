#include "formats/parquet/parquet_page.hpp"

#include <algorithm>
#include <cmath>

namespace shale {
namespace {

template <class T>
std::string text_of(T value) {
  return std::string(as_text(bytes_of(value)));
}

}  // namespace

void PageLevels::add(const RowLevels& row) {
  ++rows_;
  const std::uint64_t inner = std::max<std::uint64_t>(leaf_->inner, 1),
                      values = row.is_absent ? 0 : row.elements * inner;
  slots_ += std::max<std::uint64_t>(values, 1);
  if (values == 0) {
    // A list that is absent has the level 0, one of no elements 1.
    definition_.add(row.is_absent ? 0 : 1, 1);
    repetition_.add(0, 1);
    ++nulls_;
    return;
  }
  definition_.add(leaf_->is_path ? leaf_->value_level - 1 : leaf_->value_level, values);
  repetition_.add(0, 1);
  if (inner == 1) {
    repetition_.add(1, values - 1);
  } else {
    repetition_.add(2, inner - 1);
    for (std::uint64_t i = 1; i < row.elements; ++i) {
      repetition_.add(1, 1);
      repetition_.add(2, inner - 1);
    }
  }
  if (leaf_->is_path) nulls_ += values;
}

void PageLevels::clear() {
  repetition_.clear();
  definition_.clear();
  slots_ = nulls_ = rows_ = 0;
}

std::vector<std::byte> PageLevels::bytes() const {
  std::vector<std::byte> all = leaf_->is_list ? repetition_.bytes() : std::vector<std::byte>();
  const std::vector<std::byte> definition = definition_.bytes();
  all.insert(all.end(), definition.begin(), definition.end());
  return all;
}

void ValueBounds::add(const ParquetLeaf& leaf, const IndexCell& number) {
  const bool is_real = leaf.type == ParquetType::float32 || leaf.type == ParquetType::float64;
  if (is_real && std::isnan(number.real)) {
    are_unknown_ = true;
  } else {
    add(is_real ? Bound(number.real) : Bound(number.integer));
  }
}

void ValueBounds::add(Bytes key) {
  if (key.size() > kMostBoundBytes) are_unknown_ = true;
  if (!are_unknown_) add(Bound(std::string(as_text(key))));
}

void ValueBounds::add(const ValueBounds& other) {
  are_unknown_ = are_unknown_ || other.are_unknown_;
  if (!other.least_and_greatest_) return;
  add(other.least_and_greatest_->first);
  add(other.least_and_greatest_->second);
}

void ValueBounds::add(Bound value) {
  if (!least_and_greatest_) {
    least_and_greatest_.emplace(value, value);
  } else if (value < least_and_greatest_->first) {
    least_and_greatest_->first = std::move(value);
  } else if (value > least_and_greatest_->second) {
    least_and_greatest_->second = std::move(value);
  }
}

std::optional<WrittenBounds> ValueBounds::stored(const ParquetLeaf& leaf) const {
  if (are_unknown_ || !least_and_greatest_) return std::nullopt;
  const auto bytes = [&leaf](const Bound& bound, double zero) {
    if (const auto* text = std::get_if<std::string>(&bound)) return *text;
    if (const auto* integer = std::get_if<std::int64_t>(&bound)) {
      return leaf.type == ParquetType::int32 ? text_of(static_cast<std::int32_t>(*integer))
                                             : text_of(*integer);
    }
    // Either zero may be among the values, so the bounds have one that is outside both.
    const double real = std::get<double>(bound) == 0 ? zero : std::get<double>(bound);
    return leaf.type == ParquetType::float32 ? text_of(static_cast<float>(real)) : text_of(real);
  };
  return WrittenBounds{bytes(least_and_greatest_->first, -0.0),
                       bytes(least_and_greatest_->second, 0.0)};
}

WrittenPage page_facts(const ParquetLeaf& leaf, const PageLevels& levels, const ValueBounds& bounds,
                       std::uint64_t first_row) {
  WrittenPage page{.first_row = first_row, .slots = levels.slots(), .nulls = levels.nulls()};
  if (leaf.has_bounds) page.bounds = bounds.stored(leaf);
  return page;
}

void finish_chunk(const ParquetLeaf& leaf, const ValueBounds& bounds, WrittenChunk& chunk) {
  chunk.has_bounds = leaf.has_bounds && !bounds.are_unknown();
  if (leaf.has_bounds) chunk.bounds = bounds.stored(leaf);
}

}  // namespace shale
