#include "shale/format/column_files.hpp"

#include <numeric>

#include "shale/base/printable.hpp"

namespace shale {
namespace {

// Of the field in "shard-0000000000.<field>.safetensors": a file name has 255 bytes.
constexpr std::size_t kMostNameBytes = 200;
// NumPy has 64 (NPY_MAXDIMS of NumPy 2), PyTorch too, and the first one counts the samples.
constexpr std::size_t kMostAxes = 63;

class ColumnFilesWriter final : public ShardWriter {
 public:
  ColumnFilesWriter(std::span<OutputFile> files, const Schema& schema, ColumnHeader header)
      : files_(files), schema_(schema), header_(header) {
    for (std::size_t i = 0; i < files_.size(); ++i) files_[i].append(header_(schema_.fields[i], 0));
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_) throw rows_after_close(files_.front().path());
    for (std::size_t i = 0; i < files_.size(); ++i)
      record.parts[i].for_each_piece([&](Bytes piece) { files_[i].append(piece); });
    rows_ += record.digest.samples;
    return {};
  }

  ClosedShard close() override {
    is_closed_ = true;
    ClosedShard closed;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::vector<std::byte> header = header_(schema_.fields[i], rows_);
      files_[i].patch(0, header);
      closed.part_bases.push_back(header.size());
    }
    return closed;
  }

 private:
  std::span<OutputFile> files_;
  const Schema& schema_;
  ColumnHeader header_;
  std::uint64_t rows_ = 0;
  bool is_closed_ = false;
};

}  // namespace

ShardLayout column_files_layout(const Schema& schema, std::string_view kind,
                                std::string_view suffix) {
  if (schema.fields.empty()) {
    throw Error(Code::unsupported, "samples have no fields, but {} shard is one file per field",
                kind)
        .hint("the 'record' format holds samples of a key alone");
  }
  ShardLayout layout;
  for (const Field& field : schema.fields) {
    if (field.name.size() > kMostNameBytes) {
      throw Error(Code::unsupported,
                  "field '{}' has a name of {} bytes; a file of {} shard is named by at most {}",
                  printable(field.name), field.name.size(), kind, kMostNameBytes);
    }
    if (field.shape.size() > kMostAxes) {
      throw Error(Code::unsupported, "field '{}' has {} axes; {} array of samples has at most {}",
                  printable(field.name), field.shape.size(), kind, kMostAxes);
    }
    layout.file_suffixes.push_back(fmt::format(".{}{}", field.name, suffix));
  }
  layout.part_file.resize(schema.fields.size());
  std::iota(layout.part_file.begin(), layout.part_file.end(), std::uint32_t{0});
  layout.field_part = layout.part_file;
  layout.has_keys = false;
  layout.rows = RowStorage::columns();
  return layout;
}

std::unique_ptr<ShardWriter> create_column_files(std::span<OutputFile> files, const Schema& schema,
                                                 ColumnHeader header) {
  return std::make_unique<ColumnFilesWriter>(files, schema, header);
}

Error rows_after_close(const std::string& path) {
  return Error(Code::bug, "rows appended to closed files").at(path);
}

Error index_has_no_fixed_rows(std::string_view kind) {
  return Error(Code::damaged, "the index has no rows of one size, but {} does", kind);
}

}  // namespace shale
