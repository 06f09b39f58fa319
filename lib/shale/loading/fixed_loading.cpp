#include "shale/loading/fixed_loading.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kColumnReadBytes = 16 << 20;

// A number of a sample that is to be read.
struct StoredNumber {
  LocatedSample* sample;
  std::size_t field;
  Extent extent;
};

// Those of all samples, in the order of files and offsets, as they are read into `bytes`.
std::vector<StoredNumber> numbers_of(std::span<LocatedSample* const> samples,
                                     const OpenShard& shard,
                                     const std::vector<FixedColumn>& columns,
                                     const std::vector<bool>& wanted,
                                     std::vector<std::byte>& bytes) {
  const auto is_read = [&](std::size_t field) {
    return !is_located(columns[field].field->kind) && (wanted.empty() || wanted[field]);
  };
  std::uint64_t row_bytes = 0;
  for (std::size_t field = 0; field < columns.size(); ++field)
    row_bytes += is_read(field) ? columns[field].stride : 0;
  bytes.resize(samples.size() * row_bytes);
  std::span<std::byte> left = bytes;
  std::vector<StoredNumber> numbers;
  for (std::size_t field = 0; field < columns.size(); ++field) {
    const FixedColumn& column = columns[field];
    if (!is_read(field)) continue;
    for (LocatedSample* sample : samples) {
      const std::uint64_t offset = column.place(sample->shard_row).offset;
      numbers.push_back(
          {sample, field, shard.extent(*column.file, offset, left.first(column.stride))});
      left = left.subspan(column.stride);
    }
  }
  std::stable_sort(numbers.begin(), numbers.end(),
                   [](const StoredNumber& a, const StoredNumber& b) {
                     return std::pair(a.extent.file, a.extent.offset) <
                            std::pair(b.extent.file, b.extent.offset);
                   });
  return numbers;
}

void read_numbers(std::span<const StoredNumber> numbers, const OpenShard& shard,
                  LoaderState& state) {
  std::vector<Extent> extents;
  extents.reserve(numbers.size());
  for (const StoredNumber& number : numbers) extents.push_back(number.extent);
  try {
    state.read(extents, shard.is_direct);
  } catch (Error& error) {
    for (const StoredNumber& number : numbers) {
      const bool is_here =
          number.extent.file->path() == error.file() && number.extent.offset == error.offset();
      if (is_here && !error.sample()) error.for_sample({}, number.sample->row);
    }
    throw;
  }
}

}  // namespace

void locate_fixed_rows(std::span<LocatedSample* const> samples, const std::vector<bool>& wanted,
                       const OpenShard& shard, const Schema& schema, LoaderState& state) {
  std::vector<FixedColumn> columns;
  for (std::size_t i = 0; i < schema.fields.size(); ++i)
    columns.push_back(shard.reader.fixed_column(i));
  std::vector<std::byte> bytes;
  const std::vector<StoredNumber> numbers = numbers_of(samples, shard, columns, wanted, bytes);
  if (!numbers.empty()) read_numbers(numbers, shard, state);
  for (LocatedSample* sample : samples) sample->place.cells.resize(columns.size());
  for (const auto& [sample, field, extent] : numbers) {
    try {
      sample->place.cells[field] = read_number(extent.into, schema.fields[field]);
    } catch (Error& error) {
      error.at(extent.file->path(), extent.offset).for_sample({}, sample->row);
      throw;
    }
  }
  for (LocatedSample* sample : samples) {
    for (std::size_t i = 0; i < columns.size(); ++i)
      sample->place.cells[i].place = columns[i].place(sample->shard_row);
  }
}

ColumnPlace fixed_column_named(std::string_view name, const Schema& schema) {
  const std::optional<std::size_t> found = schema.find(name);
  if (found && !is_located(schema.fields[*found].kind)) {
    const DType dtype = dtype_of_column(schema.fields[*found]);
    return {dtype.descr(), 0, dtype.item_bytes(), *found};
  }
  std::string names;
  for (const Field& field : schema.fields) {
    if (!is_located(field.kind))
      names += fmt::format("{}{}", names.empty() ? "" : ", ", printable(field.name));
  }
  Error error = found ? Error(Code::not_found,
                              "field '{}' is a tensor, not a column: its values are "
                              "read sample by sample",
                              printable(name))
                      : Error(Code::not_found, "the shards have no column '{}'", printable(name));
  throw error.hint(names.empty() ? "there are no integers or reals, which are columns"
                                 : "the columns are " + names);
}

void read_fixed_column(const OpenShard& shard, std::size_t field, std::uint64_t row,
                       std::span<std::byte> into, LoaderState& state) {
  const FixedColumn column = shard.reader.fixed_column(field);
  const std::uint64_t first = column.place(row).offset;
  for (std::uint64_t done = 0; done < into.size(); done += kColumnReadBytes) {
    const std::span<std::byte> part =
        into.subspan(done, std::min<std::uint64_t>(kColumnReadBytes, into.size() - done));
    const Extent extent = shard.extent(*column.file, first + done, part);
    state.read({&extent, 1}, shard.is_direct);
  }
  if (dtype_of_column(*column.field).descr() != "|b1") return;
  // The other numbers may be any bytes.
  const auto wrong =
      std::ranges::find_if(into, [](std::byte value) { return value > std::byte{1}; });
  if (wrong == into.end()) return;
  try {
    (void)read_number({&*wrong, 1}, *column.field);
  } catch (Error& error) {
    error.at(column.file->path(), first + static_cast<std::uint64_t>(wrong - into.begin()));
    throw;
  }
}

}  // namespace shale
