#include "shale/datasets/arrays_beside.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/schema.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kListBufferBytes = 256 * 1024;

// Where a field comes from.
struct Column {
  const Field* field;
  bool is_array;
  std::size_t number;  // there
};

std::vector<Column> columns_of(const Schema& in_place, const Schema& arrays) {
  std::vector<Column> columns;
  for (const Schema* schema : {&in_place, &arrays}) {
    for (std::size_t i = 0; i < schema->fields.size(); ++i)
      columns.push_back({&schema->fields[i], schema == &arrays, i});
  }
  std::ranges::sort(columns, {},
                    [](const Column& one) -> const std::string& { return one.field->name; });
  return columns;
}

// A sample as both indexes have it.
IndexRow joined(std::span<const Column> columns, IndexRow row, IndexRow arrays) {
  IndexRow all = row;
  all.cells.clear();
  all.sides.clear();
  // Each index has the sides of its ragged fields in the order of its schema: by name in both.
  auto side = row.sides.begin(), array_side = arrays.sides.begin();
  for (const Column& column : columns) {
    all.cells.push_back((column.is_array ? arrays : row).cells[column.number]);
    if (!column.field->is_ragged()) continue;
    auto& from = column.is_array ? array_side : side;
    const auto end = from + static_cast<std::ptrdiff_t>(column.field->shape.size());
    all.sides.insert(all.sides.end(), from, end);
    from = end;
  }
  return all;
}

}  // namespace

void add_arrays(OpenedDataset& dataset, const NamelessIndex& arrays,
                const std::string& scratch_folder, const Events& events) {
  Manifest manifest = dataset.manifest;
  ManifestShard shard = dataset.shards[0];
  const std::uint64_t rows = shard.digest.samples;
  if (arrays.shard.digest.samples != rows)
    throw Error(Code::bug, "{} records of arrays for {} samples", arrays.shard.digest.samples, rows)
        .at(shard.files[0].name);
  const std::vector<Column> columns = columns_of(dataset.manifest.schema, arrays.manifest.schema);
  manifest.schema.fields.clear();
  manifest.layout.field_part.clear();
  for (const Column& column : columns) {
    manifest.schema.fields.push_back(*column.field);
    manifest.layout.field_part.push_back(column.is_array ? 1 : 0);
  }
  manifest.layout.part_file = {0, 1};

  const auto index = std::make_shared<const NamelessFile>(scratch_folder);
  {
    OutputFile out(index->duplicate(), index->path(),
                   {.io = IoMode::buffered, .buffer_bytes = kListBufferBytes, .buffers = 1});
    const IndexColumns written(manifest.schema, manifest.layout);
    const ShardReader reader(dataset.paths, dataset.manifest, shard);
    const ShardReader array_reader(arrays.paths, arrays.manifest, arrays.shard);
    IndexReader from = reader.open_index(), arrays_from = array_reader.open_index();
    out.append(written.header(rows));
    ByteWriter bytes;
    for (std::uint64_t row = 0; row < rows; ++row) {
      events.stop_if_asked();
      bytes.clear();
      written.encode(joined(columns, from.row(row), arrays_from.row(row)), bytes);
      out.append(bytes.bytes());
    }
    const FileSummary summary = out.finish();
    shard.index = {index->link(), summary.bytes, summary.hash};
  }
  // Links are whole paths: so are all names, of files and of lists.
  if (!shard.elements.name.empty())
    shard.elements.name = join_path(dataset.paths.lists, shard.elements.name);
  shard.files = {{join_path(dataset.paths.shards, shard.files[0].name), shard.files[0].bytes, {}},
                 {join_path(arrays.paths.shards, arrays.shard.files[0].name),
                  arrays.shard.files[0].bytes,
                  {}}};
  shard.payload_bytes += arrays.shard.payload_bytes;
  dataset.paths.shards.clear();
  dataset.paths.lists.clear();
  manifest.payload_bytes = shard.payload_bytes;
  manifest.source = source_of_file(*manifest.source.file, shard.files[0].bytes, manifest.format,
                                   rows, manifest.payload_bytes);
  using Kept = std::vector<std::shared_ptr<const void>>;
  dataset.temporary_index =
      std::make_shared<const Kept>(Kept{dataset.temporary_index, arrays.files, index});
  dataset.shards = ShardList(manifest, {std::move(shard)});
  dataset.manifest = std::move(manifest);
}

}  // namespace shale
