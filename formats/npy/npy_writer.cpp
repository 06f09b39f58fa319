#include "formats/npy/npy_writer.hpp"

#include "shale/data/fixed_value.hpp"
#include "shale/format/column_files.hpp"
#include "shale/wire/npy_header.hpp"

#include "formats/npy/npy_layout.hpp"

namespace shale {

std::vector<std::byte> npy_column_header(const Field& field, std::uint64_t rows) {
  NpyHeader header{.dtype = dtype_of_column(field), .shape = {rows}};
  header.shape.insert(header.shape.end(), field.shape.begin(), field.shape.end());
  return npy_header_bytes(header);
}

std::unique_ptr<ShardSizer> create_npy_sizer(const Schema& schema, const OptionSet& options) {
  std::vector<std::uint64_t> headers;
  for (const Field& field : schema.fields) headers.push_back(npy_column_header(field, 0).size());
  const std::vector<std::uint64_t> a_sample(headers.size());
  return make_sum_sizer(npy_layout(schema, options), headers, a_sample);
}

std::unique_ptr<ShardWriter> create_npy_shard(std::span<OutputFile> files, const Schema& schema,
                                              const OptionSet&) {
  return create_column_files(files, schema, npy_column_header);
}

}  // namespace shale
