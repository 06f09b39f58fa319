#include "formats/safetensors/safetensors_writer.hpp"

#include "shale/base/error.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/wire/safetensors_header.hpp"

namespace shale {
namespace {

class SafetensorsShardWriter final : public ShardWriter {
 public:
  SafetensorsShardWriter(std::span<OutputFile> files, const Schema& schema)
      : files_(files), schema_(schema) {
    for (std::size_t i = 0; i < files_.size(); ++i)
      files_[i].append(safetensors_column_header(schema_.fields[i], 0));
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_)
      throw Error(Code::bug, "rows appended to closed safetensors files").at(files_.front().path());
    for (std::size_t i = 0; i < files_.size(); ++i)
      record.parts[i].for_each_piece([&](Bytes piece) { files_[i].append(piece); });
    rows_ += record.digest.samples;
    return {};
  }

  ClosedShard close() override {
    is_closed_ = true;
    ClosedShard closed;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::vector<std::byte> header = safetensors_column_header(schema_.fields[i], rows_);
      files_[i].patch(0, header);
      closed.part_bases.push_back(header.size());
    }
    return closed;
  }

 private:
  std::span<OutputFile> files_;
  const Schema& schema_;
  std::uint64_t rows_ = 0;
  bool is_closed_ = false;
};

}  // namespace

std::vector<std::byte> safetensors_column_header(const Field& field, std::uint64_t rows) {
  const TensorColumn column = tensor_column_of(field, rows);
  constexpr std::size_t kFirst = 0;
  return safetensors_header(std::span(&column, 1), std::span(&kFirst, 1));
}

std::unique_ptr<ShardWriter> create_safetensors_shard(std::span<OutputFile> files,
                                                      const Schema& schema, const OptionSet&,
                                                      const ShardPlan*) {
  return std::make_unique<SafetensorsShardWriter>(files, schema);
}

}  // namespace shale
