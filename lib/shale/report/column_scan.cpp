#include "shale/report/column_scan.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "shale/data/fixed_value.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRowsAtOnce = 16'384, kBytesAtOnce = std::uint64_t{4} << 20;
constexpr std::uint64_t kNumberBytes = 8;  // in the index; in fixed rows at most

// What a number of the index, or of a located sample, is there.
NumberKind kind_in_index(const Field& field) {
  return field.kind == Kind::integer ? NumberKind::int64 : NumberKind::float64;
}

template <class T>
void append_bytes(std::vector<std::byte>& into, const T& value) {
  const Bytes bytes = bytes_of(value);
  into.insert(into.end(), bytes.begin(), bytes.end());
}

}  // namespace

ColumnScan::ColumnScan(ReportedSet& set, const SampleRows& sample)
    : set_(set), sample_(sample), is_all_(sample.is_all() || set.samples() <= kMostScanned) {
  if (set.manifest().layout.rows.has_index()) return;
  columns_.resize(set.schema().fields.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Field& field = set.schema().fields[i];
    if (!is_located(field.kind)) columns_[i] = set.loader().column(field.name);
  }
}

void ColumnScan::walk(const std::vector<bool>& wanted,
                      const std::function<void(const ScannedRows&)>& use) {
  looked_at_ = 0;
  if (!is_all_) return walk_sample(wanted, use);
  for (std::uint64_t number = 0; number < set_.loader().shard_count(); ++number) {
    try {
      walk_shard(set_.loader().shard_line(number), wanted, use);
    } catch (const Error& error) {
      set_.meet(finding_of_damage(error));
    }
  }
}

ScannedRows ColumnScan::blank(std::uint64_t begin, std::uint64_t count) const {
  const std::size_t fields = set_.schema().fields.size();
  ScannedRows scanned;
  scanned.rows.resize(count);
  std::iota(scanned.rows.begin(), scanned.rows.end(), begin);
  scanned.numbers.resize(fields);
  scanned.lengths.resize(fields);
  scanned.kinds.resize(fields, NumberKind::none);
  return scanned;
}

ScannedRows ColumnScan::read_index(std::uint64_t begin, std::uint64_t count,
                                   const std::vector<bool>& wanted) const {
  const Loader& loader = set_.loader();
  const Manifest& manifest = set_.manifest();
  const IndexColumns columns(manifest.schema, manifest.layout);
  // A column as wide as a row is the rows.
  const std::uint64_t row_bytes = columns.row_bytes();
  std::vector<std::byte> bytes(count * row_bytes);
  loader.read_column({"", 0, row_bytes}, begin, bytes);
  ScannedRows scanned = blank(begin, count);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const Field& field = manifest.schema.fields[i];
    const std::uint64_t position = columns.position_of(i);
    if (is_located(field.kind)) {
      scanned.lengths[i].reserve(count);
      for (std::uint64_t row = 0; row < count; ++row) {
        const FieldPlace place =
            columns.decode_place_at(Bytes(bytes).subspan(row * row_bytes, row_bytes), position);
        scanned.lengths[i].push_back(place.offset == kMissing ? kMissing : place.length);
      }
      continue;
    }
    scanned.kinds[i] = kind_in_index(field);
    scanned.numbers[i].resize(count * kNumberBytes);
    for (std::uint64_t row = 0; row < count; ++row)
      std::memcpy(&scanned.numbers[i][row * kNumberBytes], &bytes[row * row_bytes + position],
                  kNumberBytes);
  }
  return scanned;
}

ScannedRows ColumnScan::read_fixed(std::uint64_t begin, std::uint64_t count,
                                   const std::vector<bool>& wanted) const {
  ScannedRows scanned = blank(begin, count);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const Field& field = set_.schema().fields[i];
    if (is_located(field.kind)) {
      scanned.lengths[i].assign(count, fixed_bytes_of(field).value_or(0));
      continue;
    }
    const ColumnPlace& place = columns_[i];
    scanned.kinds[i] = number_kind_of(place.descr);
    scanned.numbers[i].resize(count * place.item_bytes);
    set_.loader().read_column(place, begin, scanned.numbers[i]);
  }
  return scanned;
}

void ColumnScan::walk_shard(const ShardLine& line, const std::vector<bool>& wanted,
                            const std::function<void(const ScannedRows&)>& use) {
  const Manifest& manifest = set_.manifest();
  const bool is_fixed = !manifest.layout.rows.has_index();
  // Of fixed rows what is held: a number or a length per field.
  const std::uint64_t row_bytes =
      is_fixed ? kNumberBytes * std::max<std::uint64_t>(1, manifest.schema.fields.size())
               : IndexColumns(manifest.schema, manifest.layout).row_bytes();
  const std::uint64_t at_once = std::clamp<std::uint64_t>(kBytesAtOnce / row_bytes, 1, kRowsAtOnce);
  for (std::uint64_t done = 0; done < line.samples;) {
    set_.events().stop_if_asked();
    const std::uint64_t count = std::min(at_once, line.samples - done);
    const std::uint64_t begin = line.first_row + done;
    use(is_fixed ? read_fixed(begin, count, wanted) : read_index(begin, count, wanted));
    looked_at_ += count;
    done += count;
  }
}

void ColumnScan::walk_sample(const std::vector<bool>& wanted,
                             const std::function<void(const ScannedRows&)>& use) {
  const Schema& schema = set_.schema();
  sample_.for_each([&](const std::vector<DrawnRow>& drawn) {
    set_.events().stop_if_asked();
    std::vector<std::uint64_t> rows;
    rows.reserve(drawn.size());
    for (const DrawnRow& row : drawn) rows.push_back(row.row);
    FoundRows found = find_rows(set_.loader(), rows);
    for (Finding& finding : found.damage) set_.meet(std::move(finding));
    ScannedRows scanned = blank(0, 0);
    for (const LocatedSample& sample : found.samples) {
      scanned.rows.push_back(sample.row);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!wanted[i]) continue;
        const IndexCell& cell = sample.place.cells[i];
        const Field& field = schema.fields[i];
        if (is_located(field.kind)) {
          scanned.lengths[i].push_back(cell.place.offset == kMissing ? kMissing
                                                                     : cell.place.length);
          continue;
        }
        scanned.kinds[i] = kind_in_index(field);
        if (field.kind == Kind::integer)
          append_bytes(scanned.numbers[i], cell.integer);
        else
          append_bytes(scanned.numbers[i], cell.real);
      }
    }
    looked_at_ += scanned.rows.size();
    use(scanned);
  });
}

}  // namespace shale
