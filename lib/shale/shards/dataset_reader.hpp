#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {

/// The format a dataset is written in. Errors: Code::unsupported, by name, if this shale does not
/// have it; Code::damaged if the format would not lay the fields out as the manifest says.
[[nodiscard]] const Format& format_of(const Manifest& manifest);

/// Files of a shard, where somebody has opened them before the ShardReader does.
struct ShardFiles {
  std::optional<InputFile> index, elements, blocks;
  std::vector<InputFile> data;  ///< all of them, or none
  /// Data files may be longer or shorter than the manifest says, and whoever reads from them sees
  /// to it that all is there.
  bool are_of_any_size = false;
};

/// One shard of a dataset, open for reading by its index. Thread-safe but for its IndexReader.
class ShardReader {
 public:
  /// The manifest outlives the reader. Errors: Code::not_found, Code::damaged if a file's size is
  /// not the manifest's, or fixed rows would end outside of it; Code::io. `keeps_open`: else its
  /// data files are opened for each read (InputFile::close).
  ShardReader(const DatasetPaths& paths, const Manifest& manifest, ManifestShard shard,
              bool keeps_open = true, ShardFiles opened = {});

  [[nodiscard]] const ManifestShard& shard() const { return shard_; }
  /// The files of the shard, and behind them that of its values (ShardLayout::has_values).
  [[nodiscard]] std::span<const InputFile> files() const { return files_; }
  /// Null where rows are fixed: there is no index.
  [[nodiscard]] const InputFile* index_file() const { return index_ ? &*index_ : nullptr; }
  /// For messages: the file that says where samples lie.
  [[nodiscard]] const std::string& index_path() const;
  [[nodiscard]] const IndexColumns& columns() const { return columns_; }
  [[nodiscard]] IndexReader open_index() const;
  /// Where the elements of lists lie; null: the shard has no list of them.
  [[nodiscard]] const ElementReader* elements() const { return elements_ ? &*elements_ : nullptr; }
  /// Those of one list, or of all lists of a row, if its bytes alone do not say where they end;
  /// else none. Errors: Code::damaged, Code::io.
  [[nodiscard]] std::vector<FieldPlace> elements_of(const FieldPlace& list) const;
  [[nodiscard]] std::vector<FieldPlace> elements_of(const IndexRow& row) const;
  /// The values of a field, where rows are fixed; inside of their file.
  [[nodiscard]] FixedColumn fixed_column(std::size_t field) const;
  [[nodiscard]] std::vector<FixedColumn> fixed_columns() const;
  /// The file a field of the schema (or the key) lies in.
  [[nodiscard]] const InputFile& file_of_field(std::size_t field) const;
  [[nodiscard]] const InputFile& file_of_key() const;
  /// What the manifest calls that file; no field: of the key.
  [[nodiscard]] const std::string& listed_name(std::optional<std::size_t> field) const;
  /// False: there is no crc32c of each value: no index, or one that was made without reading them.
  [[nodiscard]] bool has_checksums() const { return layout_->has_value_checksums(); }
  /// Proves the index, and the list of elements, by their hashes in the manifest: then every place,
  /// checksum and number in them is as it was written. So it does the values beside a file that
  /// have no checksums. Nothing to prove where rows are fixed. Reads
  /// the whole index. `progress` and errors: as prove_file.
  void prove_index(const std::function<void(std::uint64_t bytes)>& progress = {}) const;
  /// True for files of other tools: a sample there need not have every field.
  [[nodiscard]] bool may_lack_values() const { return layout_->dialect != Dialect::own; }

 private:
  ManifestShard shard_;
  const Schema* schema_;
  const ShardLayout* layout_;
  IndexColumns columns_;
  std::vector<InputFile> files_;
  std::optional<InputFile> index_;
  std::unique_ptr<const InputFile> elements_file_;
  std::optional<ElementReader> elements_;
  bool splits_by_elements_ = false;
};

/// Proves a file by the hash that the manifest has of it, if it has one. What the page cache held
/// may be wrong where the disk is right: a wrong file is read once more. `progress` is called
/// before each block, and may throw, to stop. Errors: Code::damaged with both hashes; Code::io.
void prove_file(const InputFile& file, const ManifestFile& expected,
                const std::function<void(std::uint64_t bytes)>& progress = {});
/// The block list of a shard, if it has one. Errors: same as prove_file; Code::not_found.
void prove_block_list(const DatasetPaths& paths, const ManifestShard& shard);
/// A list next to the shards, such as skipped.csv. Errors: same as prove_file;
/// Code::damaged, too, if it is missing.
void prove_list(const DatasetPaths& paths, const ManifestFile& list,
                const std::function<void(std::uint64_t bytes)>& progress = {});
/// All of them. Errors: same as prove_list.
void prove_other_files(const DatasetPaths& paths, const Manifest& manifest);

/// Proves the checksum of a value that was read. Errors: Code::damaged with file and offset.
void prove_value(Bytes value, const FieldPlace& place, const InputFile& file);

/// The error for an element that a list does not have.
[[nodiscard]] Error no_such_element(std::uint64_t number, std::string_view field,
                                    std::uint64_t count);

/// The error for a sample that is larger than the memory for one. The hint is the caller's.
[[nodiscard]] Error sample_over_limit(std::uint64_t bytes, std::uint64_t limit_bytes);

/// The error for a ragged tensor that the index gives a shape which its field or its bytes have
/// not.
[[nodiscard]] Error wrong_shape(const Field& field, std::span<const std::uint64_t> shape,
                                std::uint64_t bytes);

/// The bytes a row of the index stands for, read from the shard: a Sample and the memory it points
/// into.
struct LoadedSample {
  Sample sample;
  std::vector<std::byte> bytes;
  std::uint64_t all_bytes = 0;  ///< those that stay unread, too
};
/// What a sample that is being loaded may take.
struct LoadLimits {
  /// Bytes of memory. Of a sample that has more, large values stay unread, but for texts.
  std::uint64_t bytes = 0;
  /// As UnreadExtent has it: comes between reads of what stays unread.
  std::function<void()> step = {};
  std::shared_ptr<const void> keeps_open = nullptr;  ///< of what stays unread, beside `shard`
};
/// What stays unread borrows `shard`, unless limits.keeps_open owns it. Errors: Code::damaged with
/// file and offset for a place outside the file, an extent whose crc32c is not the index's, or a
/// malformed list; Code::schema for a field that the sample lacks, in shards of shale's: elsewhere
/// its value is monostate; Code::limit with both numbers; Code::io.
[[nodiscard]] LoadedSample load_sample(const ShardReader& shard, const IndexRow& row,
                                       const Schema& schema, const Format& format,
                                       const LoadLimits& limits);

}  // namespace shale
