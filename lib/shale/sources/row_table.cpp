#include "shale/sources/row_table.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "shale/arrays/array_rows.hpp"
#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/sources/dataset_source.hpp"

namespace shale {
namespace {

// The files are settled one after the other.
ScratchNeed scratch_of_column(const ArrayColumn& column, const ArrayRequest& request,
                              std::uint64_t row_bytes) {
  ScratchNeed all;
  for (const ArrayFile& array : column.arrays) {
    const ScratchNeed one =
        ArrayRows(array, row_bytes, request.scratch_folder).scratch_need(request.memory_bytes);
    all = {.most = std::max(all.most, all.kept + one.most), .kept = all.kept + one.kept};
  }
  return all;
}

std::unique_ptr<const LocatedRows> locate_column(const ArrayColumn& column,
                                                 const ArrayRequest& request,
                                                 std::uint64_t row_bytes, const Events& events) {
  std::vector<LocatedRows::Segment> segments;
  for (const ArrayFile& array : column.arrays) {
    if (array.shape.front() == 0) continue;
    ArrayRows rows(array, row_bytes, request.scratch_folder);
    segments.push_back(rows.locate(request.memory_bytes, events));
  }
  return std::make_unique<const LocatedRows>(row_bytes, column.arrays.front().dtype.item_bytes(),
                                             std::move(segments));
}

// A dataset of fixed rows, and which of its files have been proved.
struct FixedDataset {
  OpenedDataset dataset;
  OnDamage on_damage = OnDamage::stop;
  std::set<std::string> proved = {};

  std::unique_ptr<const LocatedRows> locate(std::size_t field, const Events& events) {
    std::vector<LocatedRows::Segment> segments;
    const Field& of_schema = dataset.manifest.schema.fields[field];
    for (const ManifestShard& shard : dataset.shards) {
      events.stop_if_asked();
      const ShardReader reader(dataset.paths, dataset.manifest, shard);
      prove(reader, field, events);
      const FixedColumn column = reader.fixed_column(field);
      segments.push_back({.path = column.file->path(),
                          .file = nullptr,
                          .offset = column.base,
                          .rows = shard.digest.samples});
    }
    const std::uint64_t item_bytes = is_located(of_schema.kind) ? of_schema.dtype.item_bytes()
                                                                : fixed_bytes_of(of_schema).value();
    return std::make_unique<const LocatedRows>(fixed_bytes_of(of_schema).value(), item_bytes,
                                               std::move(segments));
  }

  std::unique_ptr<const LocatedRows> locate_proved(std::size_t field, const Events& events) try {
    return locate(field, events);
  } catch (const Error& error) {
    if (error.code() == Code::damaged) refuse_replaced(dataset);
    throw with_way_out(error, on_damage);
  }

  // Rows that are read here and there have no checksum of their own.
  void prove(const ShardReader& reader, std::size_t field, const Events& events) {
    if (!proved.insert(reader.file_of_field(field).path()).second) return;
    prove_block_list(dataset.paths, reader.shard());
    prove_files_of(reader, dataset.manifest.layout, std::array{field},
                   [&] { events.stop_if_asked(); });
  }
};

}  // namespace

std::uint64_t RowTable::row_bytes(std::size_t field) const {
  return fixed_bytes_of(info.schema.fields[field]).value();
}

RowTable table_of_arrays(const ArrayRequest& request, const Events& events) {
  RowTable table;
  table.info = open_array_source(request, events)->info();
  // One copy for all columns: there may be thousands.
  const auto shared = std::make_shared<const ArrayRequest>(request);
  for (std::size_t i = 0; i < request.arrays.columns.size(); ++i) {
    const std::uint64_t row_bytes = table.row_bytes(i);
    table.columns.push_back(
        {.scratch = scratch_of_column(request.arrays.columns[i], request, row_bytes),
         .locate = [shared, i, row_bytes](const Events& events) {
           return locate_column(shared->arrays.columns[i], *shared, row_bytes, events);
         }});
  }
  return table;
}

std::optional<RowTable> table_of_dataset(const OpenedDataset& dataset,
                                         const DatasetSelection& selection) {
  const Schema schema = dataset.manifest.schema;
  if (!dataset.manifest.layout.rows.has_strides()) return std::nullopt;
  const auto shared = std::make_shared<FixedDataset>(FixedDataset{dataset, selection.on_damage});
  RowTable table;
  table.info = make_dataset_source(shared->dataset, selection)->info();
  for (const Field& field : table.info.schema.fields) {
    table.columns.push_back(
        {.scratch = {},
         .locate = [shared, number = schema.find(field.name).value()](const Events& events) {
           return shared->locate_proved(number, events);
         }});
  }
  return table;
}

bool are_whole_rows(const OpenedDataset& dataset, const FieldChoice& fields,
                    const std::function<void()>& stop_if_asked) {
  const Manifest& manifest = dataset.manifest;
  if (!manifest.layout.rows.has_strides()) return true;
  const std::vector<std::size_t> taken = taken_fields(fields, manifest.schema, manifest.left_out);
  try {
    for (const ManifestShard& shard : dataset.shards) {
      prove_files_of(ShardReader(dataset.paths, manifest, shard), manifest.layout, taken,
                     stop_if_asked);
    }
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;
    return false;
  }
}

}  // namespace shale
