#include "shale/columns/own_columns.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

using Role = Hdf5Column::Role;

constexpr std::string_view kOffsetSuffix = "_offset", kFirstSuffix = "_first",
                           kShapeSuffix = "_shape", kPresentSuffix = "_present";

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

bool is_flat(const Field& field) {
  return field.kind == Kind::bytes || field.kind == Kind::text || field.is_ragged();
}

void check_names(const Schema& schema) {
  struct Taken {
    std::string by;  // which field
    std::string_view says;
  };
  std::unordered_map<std::string, Taken> taken;
  for (const Field& field : schema.fields) {
    const auto take = [&](bool is_taken, std::string_view suffix, std::string_view says) {
      if (is_taken) taken.emplace(field.name + std::string(suffix), Taken{field.name, says});
    };
    const bool is_list = field.kind == Kind::list;
    take(is_list || is_flat(field), kOffsetSuffix, "where the values of '{}' begin");
    take(is_list, kFirstSuffix, "where the values of '{}' begin");
    take(has_shapes(field), kShapeSuffix, "which shapes the values of '{}' have");
    take(field.is_optional, kPresentSuffix, "which samples have '{}'");
  }
  std::unordered_set<std::string> fields;
  for (const Field& field : schema.fields) fields.insert(field.name);
  for (const auto& [name, dataset] : taken) {
    if (!fields.contains(name)) continue;
    throw Error(Code::unsupported, "field '{}' has the name of the dataset that says {}",
                printable(name), fmt::format(fmt::runtime(dataset.says), printable(dataset.by)))
        .hint("leave it out with --fields, or choose another format");
  }
}

void add_flat(std::vector<Hdf5Column>& columns, const std::string& name, std::uint32_t part,
              const DType& dtype = DType::parse("|u1")) {
  columns.push_back({name, Role::flat, part, dtype, {}});
  columns.push_back(
      {name + std::string(kOffsetSuffix), Role::offsets, part, DType::parse("<u8"), {}});
}

void add_list(std::vector<Hdf5Column>& columns, const std::string& name, std::uint32_t part,
              std::uint32_t elements_part) {
  const DType number = DType::parse("<u8");
  columns.push_back({name, Role::flat, part, DType::parse("|u1"), {}});
  columns.push_back({name + std::string(kOffsetSuffix), Role::elements, elements_part, number, {}});
  columns.push_back({name + std::string(kFirstSuffix), Role::firsts, elements_part, number, {}});
}

void add_field(Hdf5Plan& plan, const Field& field, std::uint32_t part) {
  std::vector<Hdf5Column>& columns = plan.columns;
  const auto next_part = [&] { return static_cast<std::uint32_t>(plan.parts++); };
  if (field.kind == Kind::list) {
    add_list(columns, field.name, part, next_part());
  } else if (is_flat(field)) {
    add_flat(columns, field.name, part, field.is_ragged() ? field.dtype : DType::parse("|u1"));
  } else {
    columns.push_back({field.name, Role::rows, part, dtype_of_column(field), field.shape});
  }
  if (has_shapes(field)) {
    columns.push_back({field.name + std::string(kShapeSuffix),
                       Role::shapes,
                       next_part(),
                       DType::parse("<u8"),
                       {field.shape.size()}});
  }
  if (field.is_optional) {
    columns.push_back({field.name + std::string(kPresentSuffix),
                       Role::presence,
                       next_part(),
                       DType::parse("|b1"),
                       {}});
  }
}

// The payload is what a shard is mostly made of: the first field of bytes, or of lists of them, or
// of anything with a place.
std::uint32_t streamed_part(const Schema& schema) {
  const auto is_bytes = [](const Field& field) {
    return field.kind == Kind::bytes || field.kind == Kind::list;
  };
  const auto has_place = [](const Field& field) { return is_located(field.kind); };
  auto chosen = std::find_if(schema.fields.begin(), schema.fields.end(), is_bytes);
  if (chosen == schema.fields.end())
    chosen = std::find_if(schema.fields.begin(), schema.fields.end(), has_place);
  if (chosen == schema.fields.end()) return 0;
  return static_cast<std::uint32_t>(1 + (chosen - schema.fields.begin()));
}

// Where rows are fixed it is known: all other columns are written twice, so the longest rows are
// not among them.
std::uint32_t longest_part(const Schema& schema) {
  const auto longest = std::max_element(
      schema.fields.begin(), schema.fields.end(),
      [](const Field& a, const Field& b) { return fixed_bytes_of(a) < fixed_bytes_of(b); });
  return static_cast<std::uint32_t>(longest - schema.fields.begin());
}

}  // namespace

std::vector<std::uint64_t> Hdf5Column::sides(std::uint64_t samples,
                                             std::uint64_t part_bytes) const {
  if (role == Role::flat) return {part_bytes / dtype.item_bytes()};
  if (role == Role::offsets || role == Role::firsts) return {samples + 1};
  if (role == Role::elements) return {part_bytes / sizeof(std::uint64_t) + 1};
  std::vector<std::uint64_t> all = {samples};
  all.insert(all.end(), row_shape.begin(), row_shape.end());
  return all;
}

std::uint64_t Hdf5Column::bytes(std::uint64_t samples, std::uint64_t part_bytes) const {
  if (role == Role::offsets || role == Role::firsts) return (samples + 1) * sizeof(std::uint64_t);
  return role == Role::elements ? part_bytes + sizeof(std::uint64_t) : part_bytes;
}

std::uint64_t Hdf5Column::part_bytes_of(std::uint64_t stored_bytes) const {
  if (role != Role::elements) return stored_bytes;
  return stored_bytes - std::min<std::uint64_t>(stored_bytes, sizeof(std::uint64_t));
}

std::size_t Hdf5Plan::values_of(std::uint32_t part) const {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Hdf5Column& column) {
    return column.part == part && column.role != Role::offsets && column.role != Role::firsts;
  });
  if (found == columns.end())
    throw Error(Code::bug, "no HDF5 column was planned for part {}", part);
  return static_cast<std::size_t>(found - columns.begin());
}

std::size_t Hdf5Plan::column_of(std::size_t field) const {
  return values_of(static_cast<std::uint32_t>(field + (has_keys() ? 1 : 0)));
}

std::optional<std::size_t> Hdf5Plan::offsets_of(std::uint32_t part) const {
  const std::size_t values = values_of(part);
  const bool has_offsets =
      columns[values].role == Role::flat || columns[values].role == Role::elements;
  if (!has_offsets || columns[values + 1].part != part) return std::nullopt;
  return values + 1;
}

std::optional<std::uint32_t> Hdf5Plan::beside(std::uint32_t part, Role role) const {
  for (std::size_t i = values_of(part) + 1; i < columns.size(); ++i) {
    if (columns[i].role == role) return columns[i].part;
    if (columns[i].role == Role::rows || columns[i].role == Role::flat) break;
  }
  return std::nullopt;
}

bool has_shapes(const Field& field) { return field.is_ragged() && field.shape.size() > 1; }

RowStorage hdf5_row_storage(const Schema& schema) {
  return !schema.has_keys && has_fixed_fields(schema) ? RowStorage::columns()
                                                      : RowStorage::indexed();
}

Hdf5Plan plan_of_fields(const Schema& schema) {
  check_names(schema);
  Hdf5Plan plan;
  plan.rows = hdf5_row_storage(schema);
  const std::uint32_t key_parts = plan.has_keys() ? 1 : 0;
  plan.parts = key_parts + schema.fields.size();
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    add_field(plan, schema.fields[i], key_parts + static_cast<std::uint32_t>(i));
  }
  if (plan.has_keys()) add_flat(plan.columns, "key", 0);
  plan.streamed = plan.values_of(plan.has_keys() ? streamed_part(schema) : longest_part(schema));
  return plan;
}

std::vector<ColumnExtent> place_columns(const Hdf5Plan& plan, std::uint64_t samples,
                                        std::span<const std::uint64_t> part_bytes) {
  std::vector<ColumnExtent> extents(plan.columns.size() + 1);
  std::uint64_t end = plan.head_bytes;
  const auto place = [&](std::size_t i) {
    const Hdf5Column& column = plan.columns[i];
    const std::uint64_t length = column.bytes(samples, part_bytes[column.part]);
    if (length == 0) return;
    extents[i] = {aligned(end), length};
    end = extents[i].offset + length;
  };
  place(plan.streamed);
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    if (i != plan.streamed) place(i);
  }
  extents.back() = {end, 0};
  return extents;
}

}  // namespace shale
