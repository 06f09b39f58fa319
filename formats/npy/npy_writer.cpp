#include "formats/npy/npy_writer.hpp"

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/wire/npy_header.hpp"

#include "formats/npy/npy_layout.hpp"

namespace shale {
namespace {

class NpyShardWriter final : public ShardWriter {
 public:
  NpyShardWriter(std::span<OutputFile> files, const Schema& schema)
      : files_(files), schema_(schema) {
    for (std::size_t i = 0; i < files_.size(); ++i)
      files_[i].append(npy_column_header(schema_.fields[i], 0));
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_)
      throw Error(Code::bug, "rows appended to closed npy files").at(files_.front().path());
    for (std::size_t i = 0; i < files_.size(); ++i)
      record.parts[i].for_each_piece([&](Bytes piece) { files_[i].append(piece); });
    rows_ += record.digest.samples;
    return {};
  }

  ClosedShard close() override {
    is_closed_ = true;
    ClosedShard closed;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::vector<std::byte> header = npy_column_header(schema_.fields[i], rows_);
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
                                              const OptionSet&, const ShardPlan*) {
  return std::make_unique<NpyShardWriter>(files, schema);
}

}  // namespace shale
