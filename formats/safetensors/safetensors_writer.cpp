#include "formats/safetensors/safetensors_writer.hpp"

#include "shale/format/column_files.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/wire/safetensors_header.hpp"

namespace shale {

std::vector<std::byte> safetensors_column_header(const Field& field, std::uint64_t rows) {
  const TensorColumn column = tensor_column_of(field, rows);
  constexpr std::size_t kFirst = 0;
  return safetensors_header(std::span(&column, 1), std::span(&kFirst, 1));
}

std::unique_ptr<ShardWriter> create_safetensors_shard(std::span<OutputFile> files,
                                                      const Schema& schema, const OptionSet&) {
  return create_column_files(files, schema, safetensors_column_header);
}

}  // namespace shale
