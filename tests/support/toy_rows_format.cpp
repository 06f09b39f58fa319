#include "tests/support/toy_rows_format.hpp"

#include <numeric>

#include <fmt/format.h>

namespace shale::test {
namespace {

constexpr std::string_view kMagic = "TOYROWS1";
constexpr std::uint64_t kHeaderBytes = 16;
constexpr std::string_view kRowsSuffixes[] = {".rows.toy"};
constexpr Kind kRowsKinds[] = {Kind::integer, Kind::real, Kind::tensor};

ShardLayout toy_rows_layout(const Schema& schema, const OptionSet&) {
  ShardLayout layout;
  for (const Field& field : schema.fields)
    layout.file_suffixes.push_back(fmt::format(".{}.rows.toy", field.name));
  layout.part_file.resize(schema.fields.size());
  std::iota(layout.part_file.begin(), layout.part_file.end(), std::uint32_t{0});
  layout.field_part = layout.part_file;
  layout.has_keys = false;
  layout.rows = RowStorage::columns();
  return layout;
}

class ToyRowsWriter final : public ShardWriter {
 public:
  explicit ToyRowsWriter(std::span<OutputFile> files) : files_(files) {
    for (OutputFile& file : files_) {
      file.append(as_bytes(kMagic));
      file.append(bytes_of(rows_));
    }
  }
  std::span<const std::uint64_t> append(const Record& record) override {
    for (std::size_t i = 0; i < files_.size(); ++i)
      record.parts[i].for_each_piece([&](Bytes piece) { files_[i].append(piece); });
    rows_ += record.digest.samples;
    return {};
  }
  ClosedShard close() override {
    for (OutputFile& file : files_) file.patch(kMagic.size(), bytes_of(rows_));
    ClosedShard closed;
    closed.part_bases.assign(files_.size(), kHeaderBytes);
    return closed;
  }

 private:
  std::span<OutputFile> files_;
  std::uint64_t rows_ = 0;
};

Record encode_toy_row(const Sample& sample, const Schema& schema, const OptionSet&) {
  return encode_fixed_row(sample, schema);
}

std::unique_ptr<ShardSizer> create_toy_rows_sizer(const Schema& schema, const OptionSet& options) {
  const std::size_t files = schema.fields.size();
  return make_sum_sizer(toy_rows_layout(schema, options),
                        std::vector<std::uint64_t>(files, kHeaderBytes),
                        std::vector<std::uint64_t>(files));
}

std::unique_ptr<ShardWriter> create_toy_rows(std::span<OutputFile> files, const Schema&,
                                             const OptionSet&) {
  return std::make_unique<ToyRowsWriter>(files);
}

}  // namespace

const Format toy_rows_format = {
    .name = "toyrows",
    .summary = "a file a field, for tests of fixed rows",
    .suffixes = kRowsSuffixes,
    .options = {},
    .reserved_fields = {},
    .can = {.kinds = kRowsKinds},
    .layout = toy_rows_layout,
    .encode = encode_toy_row,
    .create_sizer = create_toy_rows_sizer,
    .create_shard = create_toy_rows,
    .walk_list = nullptr,
    .split_list = nullptr,
};

}  // namespace shale::test
