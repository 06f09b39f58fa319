#include "shale/verify/verify_fixed.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kBytesAtOnce = 4 << 20;

std::string name_of_file(const ShardCheck& shard, std::size_t field) {
  const ShardLayout& layout = shard.manifest.layout;
  return shard.reader.shard().files[layout.part_file[layout.field_part[field]]].name;
}

// Only a bool can be an invalid number. One finding per field: a damaged block would make a
// million.
void find_wrong_numbers(const ShardCheck& shard, std::size_t field, Bytes stored,
                        std::uint64_t begin, std::vector<bool>& is_wrong, DeepResult& result) {
  const FixedColumn column = shard.reader.fixed_column(field);
  if (is_located(column.field->kind) || dtype_of_column(*column.field).descr() != "|b1") return;
  std::optional<Finding> finding;
  std::uint64_t more = 0, last = 0;
  for (std::uint64_t i = 0; i < is_wrong.size(); ++i) {
    if (stored[i] <= std::byte{1}) continue;
    is_wrong[i] = true;
    last = i;
    if (finding) {
      ++more;
      continue;
    }
    try {
      (void)read_number(stored.subspan(i, 1), *column.field);
    } catch (const Error& error) {
      finding = shard.finding(error.message(), name_of_file(shard, field),
                              column.place(begin + i).offset, begin + i);
      finding->field = column.field->name;
    }
  }
  if (!finding) return;
  if (more > 0) {
    finding->message += fmt::format(", and so are {} more, the last in row {}", more,
                                    shard.first_sample + begin + last);
  }
  result.findings.add([&] { return std::move(*finding); });
}

// The digest of the rows that are not wrong.
DatasetDigest digest_of_sound(std::span<const Bytes> columns, const std::vector<bool>& is_wrong,
                              const Schema& schema) {
  const std::uint64_t rows = is_wrong.size();
  DatasetDigest digest;
  std::vector<Bytes> run(columns.size());
  for (std::uint64_t begin = 0, end = 0; begin < rows; begin = end) {
    while (begin < rows && is_wrong[begin]) ++begin;
    for (end = begin; end < rows && !is_wrong[end];) ++end;
    if (begin == end) break;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::uint64_t stride = columns[i].size() / rows;
      run[i] = columns[i].subspan(begin * stride, (end - begin) * stride);
    }
    digest.append(digest_of_rows(run, end - begin, schema));
  }
  return digest;
}

}  // namespace

std::uint64_t fixed_rows_at_once(const ShardCheck& shard) {
  return rows_at_once(row_bytes_of(shard.reader.fixed_columns()),
                      std::min(kBytesAtOnce, shard.limits.small_bytes));
}

DeepResult verify_fixed_rows(const ShardCheck& shard, std::uint64_t begin, std::uint64_t end) {
  const SampleLimits& limits = shard.limits;
  shard.stop_if_over();
  const std::vector<FixedColumn> columns = shard.reader.fixed_columns();
  const std::uint64_t row_bytes = row_bytes_of(columns);
  if (row_bytes > limits.large_bytes) {
    throw sample_over_limit(row_bytes, limits.large_bytes)
        .at(shard.reader.files()[0].path())
        .hint("pass a larger --memory, at least twice the size of a row");
  }
  const bool is_large = row_bytes * (end - begin) > limits.small_bytes;
  const std::unique_lock<std::mutex> alone =
      is_large ? std::unique_lock(limits.one_large) : std::unique_lock<std::mutex>();
  DeepResult result;
  FixedRun run(begin, end - begin);
  std::vector<bool> is_wrong(end - begin);
  std::size_t field = 0;
  try {
    for (; field < columns.size(); ++field) {
      const Bytes values = run.read(columns[field]);
      result.bytes += values.size();
      find_wrong_numbers(shard, field, values, begin, is_wrong, result);
    }
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;
    result.findings.add([&] {
      return shard.finding(error.message(), name_of_file(shard, field), error.offset(), begin);
    });
    return result;
  }
  result.digest = digest_of_sound(run.columns(), is_wrong, shard.manifest.schema);
  return result;
}

}  // namespace shale
