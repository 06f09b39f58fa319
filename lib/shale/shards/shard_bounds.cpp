#include "shale/shards/shard_bounds.hpp"

#include <algorithm>
#include <numeric>

#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostRows = std::uint64_t{1} << 62;

// Bytes of the block list of these files.
std::uint64_t block_list_of(std::span<const std::uint64_t> data_files) {
  static const std::uint64_t empty_list_bytes = block_list_bytes({}).size();
  std::uint64_t blocks = 0;
  for (const std::uint64_t size : data_files) blocks += block_count(size);
  return empty_list_bytes + blocks * sizeof(Hash128);
}

std::uint64_t element_list_of(std::uint64_t elements, const IndexColumns& columns) {
  const std::optional<ElementColumns> of_elements = columns.elements();
  return of_elements ? of_elements->file_bytes(elements) : 0;
}

}  // namespace

std::uint64_t largest_file_of(std::span<const std::uint64_t> data_files, std::uint64_t samples,
                              std::uint64_t elements, const IndexColumns& columns) {
  std::uint64_t largest = std::max(
      {columns.file_bytes(samples), block_list_of(data_files), element_list_of(elements, columns)});
  for (const std::uint64_t size : data_files) largest = std::max(largest, size);
  return largest;
}

std::uint64_t all_files_of(std::span<const std::uint64_t> data_files, std::uint64_t samples,
                           std::uint64_t elements, const IndexColumns& columns) {
  const std::uint64_t lists =
      columns.file_bytes(samples) + block_list_of(data_files) + element_list_of(elements, columns);
  return std::accumulate(data_files.begin(), data_files.end(), lists);
}

Error sample_too_large(std::uint64_t shard_bytes, std::uint64_t limit_bytes) {
  return Error(Code::limit, "a shard with this sample alone takes {} bytes, but --shard-size is {}",
               shard_bytes, limit_bytes)
      .hint(fmt::format("pass --shard-size {} or more", shard_bytes));
}

std::optional<std::uint64_t> rows_within(const ShardLimits& limits, const Format& format,
                                         const Schema& schema, const OptionSet& options) {
  const ShardLayout layout = format.layout(schema, options);
  if (!layout.rows.takes_runs()) return std::nullopt;
  const IndexColumns columns(schema, layout);
  const std::unique_ptr<ShardSizer> empty = format.create_sizer(schema, options);
  std::vector<std::uint64_t> parts(schema.fields.size());
  const auto fits = [&](std::uint64_t rows) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::uint64_t stride = fixed_bytes_of(schema.fields[i]).value();
      if (stride > 0 && rows > limits.bytes / stride) return false;
      parts[i] = rows * stride;
    }
    return largest_file_of(empty->size_with(parts, rows), rows, 0, columns) <= limits.bytes;
  };
  // Sums of all fields are within 64 bits, too.
  std::uint64_t row_bytes = 1;
  for (const Field& field : schema.fields)
    row_bytes += std::min(fixed_bytes_of(field).value(),
                          kMostRows / std::max<std::size_t>(1, schema.fields.size()));
  std::uint64_t most = std::min(limits.samples, kMostRows / row_bytes), least = 0;
  while (least < most) {
    const std::uint64_t middle = most - (most - least) / 2;
    if (fits(middle)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

}  // namespace shale
