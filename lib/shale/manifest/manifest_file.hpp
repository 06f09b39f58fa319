#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/io/input_file.hpp"
#include "shale/manifest/manifest_json.hpp"
#include "shale/manifest/naming.hpp"

// dataset.json: the commit of a dataset, written last. docs/manifest.md gives every member. One
// shard a line, so that a set of 10^5 shards is written and read as a stream; the last member is
// the hash of every other byte of the file.

namespace shale {

/// Hands every shard to the visitor, in order.
using ForEachShard = std::function<void(const std::function<void(const ManifestShard&)>&)>;

/// Writes dataset.json into `directory`, atomically and durably. Nothing in it depends on time,
/// host or path. Errors: Code::io.
void write_manifest(const std::string& directory, const Manifest& manifest,
                    const ForEachShard& shards);

/// The same at any path. For shards of other tools.
void write_manifest_file(const std::string& path, const Manifest& manifest,
                         const ForEachShard& shards);

/// True for a file that begins as a manifest of shale, or ends as one, whole or damaged: any other
/// file is somebody else's, whatever it is called. Errors: Code::io.
[[nodiscard]] bool is_manifest(const std::string& path);

/// --memory where there is no such option.
inline constexpr std::uint64_t kManifestMemory = std::uint64_t{1} << 30;

/// Reads a manifest: proves its self-hash first, then parses, handing out the shards as they come.
/// Memory: one shard at a time, besides the class table; at most 32 MiB and a quarter of
/// `memory_bytes`.
/// Errors: Code::not_found; Code::damaged with both hashes, or with the member that is off;
/// Code::limit for one that would take more memory; Code::unsupported for a newer format_version
/// or an unknown requirement, by name.
[[nodiscard]] Manifest read_manifest(
    const DatasetPaths& paths, const std::function<void(const ManifestShard&)>& visit_shard = {},
    std::uint64_t memory_bytes = kManifestMemory);

/// A shard has the files of its layout, and rows without an index lie inside of them. Errors:
/// Code::damaged, without a place.
void check_shard_files(const ManifestShard& shard, const Schema& schema, const ShardLayout& layout);

/// Where the line of a shard is in its manifest, and its first row over the dataset.
struct ShardLine {
  std::uint64_t first_row = 0, samples = 0, offset = 0, bytes = 0;
};
/// Those of shards that no manifest has.
[[nodiscard]] std::vector<ShardLine> lines_of(std::span<const ManifestShard> shards);

/// A manifest for random access: the shards stay in the file, 32 bytes are held for each.
struct ManifestOutline {
  Manifest manifest;
  std::vector<ShardLine> shards;
};
/// Proves the self-hash, parses all but the shards, and finds their lines: 10^5 in a tenth of a
/// second. Errors: same as read_manifest.
[[nodiscard]] ManifestOutline read_manifest_outline(const InputFile& file,
                                                    std::uint64_t memory_bytes = kManifestMemory);
/// One shard of it. Errors: Code::damaged for a line that contradicts the head, or that has
/// a different number of samples than when the outline was made.
[[nodiscard]] ManifestShard read_shard_line(const InputFile& file, const ManifestOutline& outline,
                                            std::uint64_t number);

/// What lines say of the sizes of files.
struct ShardLineBytes {
  std::uint64_t data = 0;   ///< of the files that hold samples
  std::uint64_t lists = 0;  ///< of indexes, block lists and lists of elements
  std::uint64_t largest = 0;
};

/// The shards of a manifest, each parsed from the file when it is asked for. Thread-safe; copies
/// share what they hold.
class ShardList {
 public:
  ShardList() = default;
  /// `file` is the one that the outline was read from.
  ShardList(std::shared_ptr<const InputFile> file, ManifestOutline outline);
  /// Of a manifest that is not in a file.
  ShardList(Manifest manifest, std::vector<ManifestShard> shards);

  [[nodiscard]] const Manifest& manifest() const { return outline_->manifest; }
  [[nodiscard]] std::uint64_t size() const { return outline_ ? outline_->shards.size() : 0; }
  /// Row 0 of the shard over the dataset, and how many rows it has: without reading it.
  [[nodiscard]] std::uint64_t first_row(std::uint64_t number) const {
    return outline_->shards[number].first_row;
  }
  [[nodiscard]] std::uint64_t samples(std::uint64_t number) const {
    return outline_->shards[number].samples;
  }
  /// The shard that a row of the dataset lies in; the row must exist.
  [[nodiscard]] std::uint64_t holding(std::uint64_t row) const;
  /// Errors: same as read_shard_line.
  [[nodiscard]] ManifestShard operator[](std::uint64_t number) const;

  /// Each shard in order; for 10^5 of them, which are read in large pieces. Errors: same as
  /// read_shard_line.
  void for_each(const std::function<void(const ManifestShard&)>& visit) const;

  /// The sizes of the files of all shards; `visit` gets each shard, in order. A line as shale
  /// writes it is not checked; errors of others: same as read_shard_line.
  [[nodiscard]] ShardLineBytes bytes(
      const std::function<void(const ManifestShard&)>& visit = {}) const;

  /// The shard of a file of another tool, which has one; nullopt for another number of them.
  [[nodiscard]] std::optional<ManifestShard> only() const {
    return size() == 1 ? std::optional((*this)[0]) : std::nullopt;
  }

  /// For `for`: each shard by value.
  class Iterator {
   public:
    Iterator(const ShardList& shards, std::uint64_t number) : shards_(&shards), number_(number) {}
    ManifestShard operator*() const { return (*shards_)[number_]; }
    Iterator& operator++() { return ++number_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    const ShardList* shards_;
    std::uint64_t number_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }

 private:
  using TakeLine = std::function<void(std::uint64_t number, std::string_view line)>;
  void for_each_line(const TakeLine& take) const;

  std::shared_ptr<const InputFile> file_;
  std::shared_ptr<const ManifestOutline> outline_;
  std::shared_ptr<const std::vector<ManifestShard>> shards_;  // null: they are in the file
};

/// Errors: same as read_manifest.
[[nodiscard]] ShardList open_shard_list(const DatasetPaths& paths,
                                        std::uint64_t memory_bytes = kManifestMemory);

/// True for the name of a file of one of its shards, index and block list included: names follow
/// from numbers, as read_manifest has checked. For a set of shale's own.
[[nodiscard]] bool lists_shard_file(const Manifest& manifest, std::string_view name);

/// What a manifest may take when it is read with so much --memory: class tables are long.
[[nodiscard]] std::uint64_t most_manifest_bytes(std::uint64_t memory_bytes);

/// The hash of itself that a manifest ends with, 32 digits, not proved. Errors: Code::damaged.
[[nodiscard]] std::string self_hash_of(const InputFile& file);

}  // namespace shale
