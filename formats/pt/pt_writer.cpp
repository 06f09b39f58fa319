#include "formats/pt/pt_writer.hpp"

#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/format/column_files.hpp"
#include "shale/format/tensor_file.hpp"

namespace shale {
namespace {

class PtShardWriter final : public ShardWriter {
 public:
  PtShardWriter(std::span<OutputFile> files, const Schema& schema)
      : files_(files), schema_(schema), crc32s_(files.size()) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const PtArchive archive = pt_archive_of(schema_.fields[i], 0);
      files_[i].append(archive.front());
      files_[i].append(archive.header(0, 0));
    }
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_) throw rows_after_close(files_.front().path());
    for (std::size_t i = 0; i < files_.size(); ++i) {
      record.parts[i].for_each_piece([&](Bytes piece) {
        files_[i].append(piece);
        crc32s_[i] = crc32(piece, crc32s_[i]);
      });
    }
    rows_ += record.digest.samples;
    return {};
  }

  ClosedShard close() override {
    is_closed_ = true;
    ClosedShard closed;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const PtArchive archive = pt_archive_of(schema_.fields[i], rows_);
      files_[i].append(archive.trailer(std::span(&crc32s_[i], 1)));
      files_[i].patch(0, archive.front());
      files_[i].patch(archive.header_offset(0), archive.header(0, crc32s_[i]));
      closed.part_bases.push_back(archive.data_offset(0));
    }
    return closed;
  }

 private:
  std::span<OutputFile> files_;
  const Schema& schema_;
  std::vector<std::uint32_t> crc32s_;
  std::uint64_t rows_ = 0;
  bool is_closed_ = false;
};

// A file of 4 GiB or more ends in a zip64 record, too.
class PtSizer final : public ShardSizer {
 public:
  explicit PtSizer(const Schema& schema) : rows_(schema.fields.size()) {
    for (const Field& field : schema.fields) {
      constexpr std::uint32_t kAnyChecksum = 0;
      const PtArchive archive = pt_archive_of(field, 0);
      in_front_.push_back(archive.data_offset(0));
      behind_.push_back(archive.trailer(std::span(&kAnyChecksum, 1)).size());
    }
  }

  [[nodiscard]] std::vector<std::uint64_t> size_with(std::span<const std::uint64_t> part_bytes,
                                                     std::uint64_t) const override {
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::uint64_t end = in_front_[i] + rows_[i] + part_bytes[i];
      sizes.push_back(end + behind_[i] + (end >= kFarZipOffset ? kZip64EndBytes : 0));
    }
    return sizes;
  }
  void add(std::span<const std::uint64_t> part_bytes, std::uint64_t) override {
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] += part_bytes[i];
  }

 private:
  std::vector<std::uint64_t> in_front_, behind_, rows_;
};

}  // namespace

PtArchive pt_archive_of(const Field& field, std::uint64_t rows) {
  return PtArchive({tensor_column_of(field, rows)}, false);
}

std::unique_ptr<ShardSizer> create_pt_sizer(const Schema& schema, const OptionSet&) {
  return std::make_unique<PtSizer>(schema);
}

std::unique_ptr<ShardWriter> create_pt_shard(std::span<OutputFile> files, const Schema& schema,
                                             const OptionSet&) {
  return std::make_unique<PtShardWriter>(files, schema);
}

}  // namespace shale
