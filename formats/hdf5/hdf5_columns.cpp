#include "formats/hdf5/hdf5_columns.hpp"

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/schema_text.hpp"
#include "shale/trees/hdf5_elements.hpp"
#include "shale/trees/hdf5_metadata.hpp"
#include "shale/wire/hdf5_types.hpp"

#include "formats/hdf5/hdf5_class_names.hpp"

// The head of a shard:
//
//  +0    superblock, 48 bytes
//  +48   object header of the root group: group info, link info, one link per column
//  then  an object header per column: dataspace, datatype, fill value, layout
//  then  zeros up to a multiple of 64, where the streamed column begins
//
// Its size depends on names and types only: sides and addresses have a fixed width. So it is
// written last, into the place that was left for it.
//
// The header of a label that has class names lies behind the last column (hdf5_class_names.cpp).

namespace shale {
namespace {

// A header message has less than 64 KiB.
constexpr std::size_t kMostSchemaTextBytes = 60'000;

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

void check_field(const Field& field) {
  if (field.kind != Kind::tensor) return;
  if (!has_hdf5_type(field.dtype)) {
    throw Error(Code::unsupported,
                "field '{}' is a tensor of {}; HDF5 shards hold integers, floats of 2, 4 and 8 "
                "bytes, bool and complex",
                printable(field.name), dtype_text(field.dtype))
        .hint("choose --to record or lmdb, or leave the field out: --fields");
  }
  if (field.shape.size() > kMaxHdf5Axes) {
    throw Error(Code::unsupported,
                "field '{}' is a tensor of {} axes; HDF5 holds {} besides the rows",
                printable(field.name), field.shape.size(), kMaxHdf5Axes);
  }
}

// Without the zeros behind the head.
ShardMetadata metadata(const Hdf5Plan& plan, std::uint64_t samples,
                       std::span<const std::uint64_t> part_bytes,
                       std::span<const ColumnExtent> extents, const LabelNames& names) {
  ShardMetadata made;
  std::vector<NamedHeader> headers;
  const std::uint64_t end = extents.back().offset;
  const std::size_t label = names.names.empty() ? plan.columns.size() : plan.column_of(names.field);
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    const Hdf5Column& column = plan.columns[i];
    const auto header = [&](std::span<const HeaderMessage> attributes) {
      return dataset_header_bytes(column.sides(samples, part_bytes[column.part]),
                                  datatype_bytes(column.dtype),
                                  {extents[i].offset, extents[i].length}, attributes);
    };
    if (i != label) {
      headers.push_back({.name = column.name, .header = header({})});
      continue;
    }
    headers.push_back({.name = column.name, .header = {}, .address = aligned(end)});
    made.tail.resize(aligned(end) - end);
    const std::vector<std::byte> named = named_header_bytes(aligned(end), names.names, header);
    made.tail.insert(made.tail.end(), named.begin(), named.end());
  }
  std::vector<HeaderMessage> attributes;
  if (!plan.schema_text.empty()) {
    const Bytes text = as_bytes(plan.schema_text);
    attributes.push_back(attribute_message({.name = std::string(kSchemaAttribute),
                                            .datatype = fixed_text_type_bytes(text.size()),
                                            .sides = {},
                                            .value = {text.begin(), text.end()}}));
  }
  made.head = file_head_bytes(headers, end + made.tail.size(), attributes);
  return made;
}

}  // namespace

Hdf5Plan plan_columns(const Schema& schema) {
  if (schema.fields.size() > kMaxHdf5Fields) {
    throw Error(Code::unsupported, "{} fields; an HDF5 shard holds at most {}",
                schema.fields.size(), kMaxHdf5Fields);
  }
  for (const Field& field : schema.fields) check_field(field);
  Hdf5Plan plan = plan_of_fields(schema);
  plan.schema_text = schema_text(schema);
  if (plan.schema_text.size() > kMostSchemaTextBytes) plan.schema_text.clear();
  const std::vector<std::uint64_t> no_bytes(plan.parts);
  const std::vector<ColumnExtent> nowhere(plan.columns.size() + 1);
  plan.head_bytes = aligned(metadata(plan, 0, no_bytes, nowhere, {}).head.size());
  return plan;
}

ShardMetadata shard_metadata(const Hdf5Plan& plan, std::uint64_t samples,
                             std::span<const std::uint64_t> part_bytes, const LabelNames& names) {
  ShardMetadata made =
      metadata(plan, samples, part_bytes, place_columns(plan, samples, part_bytes), names);
  if (made.head.size() > plan.head_bytes) {
    throw Error(Code::bug, "an HDF5 shard's metadata takes {} bytes, but {} were left for it",
                made.head.size(), plan.head_bytes);
  }
  made.head.resize(plan.head_bytes);
  return made;
}

std::unique_ptr<ShardWriter> create_hdf5_shard(std::span<OutputFile> files, const Schema& schema,
                                               const OptionSet&) {
  return create_column_writer(files[0], plan_columns(schema), shard_metadata);
}

std::unique_ptr<ShardSizer> create_hdf5_sizer(const Schema& schema, const OptionSet&) {
  return create_column_sizer(plan_columns(schema));
}

}  // namespace shale
