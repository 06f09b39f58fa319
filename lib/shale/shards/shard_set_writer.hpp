#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/data/manifest.hpp"
#include "shale/format/format.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {

/// How a large file is written out of a budget of `memory_bytes`.
[[nodiscard]] OutputFile::Options data_file_options(IoMode io, std::uint64_t memory_bytes);

/// Writes a set of shards into a work folder: bounds, names, hashes, index, block list, order. A
/// shard that the journal lists is whole and durable; small shards are made so together, and are in
/// its tail until then. The set is finished by write_manifest, and comes to its place by
/// put_in_place, not here. One thread, records in order.
class ShardSetWriter {
 public:
  struct Options {
    std::uint64_t limit_bytes = std::uint64_t{1} << 30;  ///< no file of a shard is larger
    std::uint64_t limit_samples = ~std::uint64_t{0};     ///< per shard
    IoMode io = IoMode::automatic;
    std::uint64_t memory_bytes =
        64 << 20;  ///< for write buffers and the check of keys: see buffer_bytes()
    bool keys_are_unique =
        false;  ///< promised by the source (paths of a tree); else it is checked, at finish
    /// Not empty: one file of this name and of any size, instead of shards; the limits do not
    /// count.
    std::string file_name = {};
    /// Where this one file is written to instead: the descriptor of a stream, which stays open.
    std::optional<int> stream = {};
    bool keeps_suffixes = false;  ///< its files keep those of a shard behind this name
    bool writes_index = true;     ///< where rows are not fixed
    /// An integer field that has one value in each shard: where it changes, the next shard begins.
    std::optional<std::size_t> divided_by = {};
    bool lists_elements = true;  ///< of lists; false: beside shards without, of shale 0.2.0
    /// The class names, for containers that have a place for them; no names: there are none.
    LabelNames classes = {};
    bool keeps_classes = true;      ///< false: beside shards without, of shale 0.2.0
    std::uint64_t first_shard = 0;  ///< the number of its first one: others stand before it
    /// `work` goes on with the run before: its shards are the first ones of this set.
    bool continues = false;
    /// What the journal says with a shard of the run: called when the shard is whole, before the
    /// record that no more fitted in is counted anywhere. `is_durable`: the shard is, and what the
    /// state tells of must be. Null: nothing.
    std::function<std::string(bool is_durable)> state = {};
    /// Told of each shard, which is durable then: small ones are not made so together.
    std::function<void(const ManifestShard&)> on_shard = {};
    std::function<void()> stop_if_asked = {};  ///< asked between two shards; may throw
  };

  /// `work` has begun its journal; it outlives the writer, as do format, schema and options.
  ShardSetWriter(const Format& format, const Schema& schema, const OptionSet& format_options,
                 WorkFolder& work, Options options);
  ~ShardSetWriter();
  ShardSetWriter(const ShardSetWriter&) = delete;
  ShardSetWriter& operator=(const ShardSetWriter&) = delete;

  [[nodiscard]] const ShardLayout& layout() const;
  /// Where rows are fixed: how many a shard holds, but the last one; no record may go across its
  /// end. Nullopt elsewhere, and for one file.
  [[nodiscard]] std::optional<std::uint64_t> rows_a_shard() const;

  /// Errors: Code::limit naming the sample if it cannot fit a shard, or the one file, before
  /// anything of it is written; Code::io.
  void append(const Record& record);

  struct Summary {
    std::uint64_t shards = 0, payload_bytes = 0, file_bytes = 0;
    DatasetDigest digest;
  };
  /// Commits the last shard. Errors: Code::schema naming the key if two samples have the same.
  Summary finish();

  /// Bytes of memory that a writer holds for its buffers out of a budget of `memory_bytes`.
  [[nodiscard]] static std::uint64_t buffer_bytes(std::uint64_t memory_bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What the samples of a shard may take of each of its files: the limit, less the class names.
[[nodiscard]] std::uint64_t bytes_for_samples(const Format& format,
                                              const ShardSetWriter::Options& options);

}  // namespace shale
