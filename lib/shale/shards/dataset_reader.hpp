#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"
#include "shale/shards/index_file.hpp"
#include "shale/shards/naming.hpp"

namespace shale {

/// The format a dataset is written in. Errors: Code::unsupported, by name, if this shale does not
/// have it.
[[nodiscard]] const Format& format_of(const Manifest& manifest);

/// One shard of a dataset, open for reading by its index. Thread-safe but for its IndexReader.
class ShardReader {
 public:
  /// Errors: Code::not_found, Code::damaged if a file's size is not the manifest's, Code::io.
  ShardReader(const DatasetPaths& paths, const Manifest& manifest, ManifestShard shard);

  [[nodiscard]] const ManifestShard& shard() const { return shard_; }
  [[nodiscard]] std::span<const InputFile> files() const { return files_; }
  [[nodiscard]] const InputFile& index_file() const { return index_; }
  [[nodiscard]] const IndexColumns& columns() const { return columns_; }
  [[nodiscard]] IndexReader open_index() const;
  /// The file a field of the schema (or the key) lies in.
  [[nodiscard]] const InputFile& file_of_field(std::size_t field) const;
  [[nodiscard]] const InputFile& file_of_key() const;
  /// False: the index gives no crc32c, nothing that is read can be proved.
  [[nodiscard]] bool has_checksums() const { return layout_->has_checksums; }
  /// True for files of other tools: a sample there need not have every field.
  [[nodiscard]] bool may_lack_values() const { return layout_->dialect != Dialect::own; }

 private:
  ManifestShard shard_;
  const ShardLayout* layout_;
  IndexColumns columns_;
  std::vector<InputFile> files_;
  InputFile index_;
};

/// The bytes a row of the index stands for, read from the shard: a Sample and the memory it points
/// into.
struct LoadedSample {
  Sample sample;
  std::vector<std::byte> bytes;
};
/// `limit_bytes` bounds the memory taken. Errors: Code::damaged with file and offset for a place
/// outside the file, an extent whose crc32c is not the index's, or a malformed list; Code::schema
/// for a field that the sample lacks, in shards of shale's: elsewhere its value is monostate;
/// Code::limit with both numbers; Code::io.
[[nodiscard]] LoadedSample load_sample(const ShardReader& shard, const IndexRow& row,
                                       const Schema& schema, const Format& format,
                                       std::uint64_t limit_bytes);

}  // namespace shale
