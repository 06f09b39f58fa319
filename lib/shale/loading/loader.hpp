#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/loading/load_request.hpp"
#include "shale/manifest/manifest_file.hpp"

namespace shale {

class LoaderState;

/// Random access to the samples of a dataset, by the index, with pread alone: nothing is created,
/// locked, mapped or unlinked, whatever is read. Memory: 32 bytes per shard; indexes stay on the
/// disk. Where rows are fixed there is none: places are computed. At most 64 descriptors, whatever
/// the number of shards: the least recently used are closed; files of a shard that has more than 55
/// are opened for each read. To verify fixed rows: 16 bytes for each MiB of the open shards
/// besides. Thread-safe. After a fork the child opens its own files; a handle may be used on both
/// sides. Files that are replaced, removed or written to while it is open are an error of the first
/// locate, fetch or read_column that ends after that: Code::mismatch. It costs one stat a call.
class Loader {
 public:
  /// Reads the manifest; shards are opened when they are touched.
  /// Errors: Code::not_found; Code::mismatch for an unfinished dataset, or a file that has changed
  /// since it was indexed; Code::unsupported for anything that is not a dataset, or to verify
  /// without checksums; Code::damaged.
  Loader(const LoaderRequest& request, const Events& events);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] std::uint64_t size() const { return outline_.manifest.digest.samples; }
  [[nodiscard]] const Manifest& manifest() const { return outline_.manifest; }
  /// The hash of itself that the manifest has; empty where there is only an index in memory. Of a
  /// set of files the fingerprint of the files, whether it has an index or not.
  [[nodiscard]] const std::string& self_hash() const { return content_hash_; }
  /// The one file of another tool that is read; empty: a dataset, or a set of files.
  [[nodiscard]] std::string lone_file() const {
    return file_states_.empty() ? file_ : std::string();
  }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// The number of the shard that a row lies in. Errors: Code::not_found for a row from size() on.
  [[nodiscard]] std::uint64_t shard_of(std::uint64_t row) const;
  /// Its name. Errors: Code::not_found; Code::damaged; Code::io.
  [[nodiscard]] std::string shard_name_of(std::uint64_t row) const;
  [[nodiscard]] std::uint64_t shard_count() const { return outline_.shards.size(); }
  /// Its first row over the dataset, and how many rows it has.
  [[nodiscard]] const ShardLine& shard_line(std::uint64_t number) const {
    return outline_.shards[number];
  }
  /// What the manifest says of a shard, whose files are not opened. Errors: Code::mismatch if the
  /// manifest is another one than it was; Code::damaged; Code::io.
  [[nodiscard]] ManifestShard shard_facts(std::uint64_t number) const;

  /// How the lists about a shard are made again. Errors: same as shard_facts.
  [[nodiscard]] std::string hint_of_index(std::uint64_t number) const;

  /// The key of a row. Errors: same as locate and fetch.
  [[nodiscard]] std::string key_of(std::uint64_t row) const;

  /// The index rows of samples, in the order requested; where rows are fixed, their integers and
  /// reals are read for it, many at a time: those of the fields marked in `wanted` (empty: all),
  /// the others stay 0. Errors: Code::not_found for a row from size() on; Code::damaged with the
  /// file, for an index that is not this dataset's, places outside of their file, or invalid
  /// numbers or ones whose block is wrong; Code::io.
  [[nodiscard]] std::vector<LocatedSample> locate(std::span<const std::uint64_t> rows,
                                                  const std::vector<bool>& wanted = {}) const;
  /// Bytes of one value, 0 for a missing one.
  [[nodiscard]] static std::uint64_t bytes_of_value(const LocatedSample& sample,
                                                    std::optional<std::size_t> field);
  /// Reads extents in the order of the disk, with many reads in flight. Errors: Code::damaged with
  /// file, offset and sample, for a file that ends too early, a wrong crc32c or, where rows are
  /// fixed, a wrong block (after it was read once more, past the cache); Code::io.
  void fetch(std::span<const Fetch> fetches) const;

  /// Where elements of a list lie, those of these numbers in this order: to be fetched. Without a
  /// list of elements the whole list is read for it. Errors: Code::not_found for a number from the
  /// list's count on; Code::damaged for elements outside of their list; same as fetch.
  [[nodiscard]] std::vector<FieldPlace> elements(const LocatedSample& sample, std::size_t field,
                                                 std::span<const std::uint64_t> numbers) const;

  /// The values of a field of kind bytes, to be read in pieces; nullopt for a missing one. Memory,
  /// with Proof::all: 16 bytes for each MiB of a shard, which its values share. Without hashes of
  /// blocks (an index in memory) each value is read once and proved by its crc32c here.
  /// Errors: same as locate, with that also as fetch; Code::unsupported for a field of another
  /// kind.
  [[nodiscard]] std::vector<std::optional<OpenValue>> open_values(
      std::span<const std::uint64_t> rows, std::size_t field) const;
  /// Bytes [begin, begin + into.size()) of a value, which must have them. The crc32c of a value is
  /// that of all its bytes, so it proves nothing here; with Proof::all each block that is touched
  /// is read whole and proved by its hash. Errors: same as fetch.
  void read_piece(const OpenValue& value, std::uint64_t begin, std::span<std::byte> into) const;

  /// Where a value lies; nullopt if its shard cannot be opened any more.
  [[nodiscard]] std::optional<ValueLocation> location_of(const LocatedSample& sample,
                                                         std::optional<std::size_t> field) const;

  /// One column of the index, of rows [begin, begin + into.size() / bytes of an element), as it
  /// stands there; where rows are fixed, of an integer or real, in the dtype that it is stored in.
  /// Errors: Code::not_found, naming the columns there are; same as locate.
  [[nodiscard]] ColumnPlace column(std::string_view name) const;
  void read_column(const ColumnPlace& column, std::uint64_t begin, std::span<std::byte> into) const;

  /// The first row with this key. The first call reads the hashes of all keys; up to 4 Mi samples
  /// they are kept (16 bytes each), above that each call reads them again.
  /// Errors: same as locate; Code::interrupted.
  [[nodiscard]] std::optional<std::uint64_t> find(std::string_view key,
                                                  const Events& events = {}) const;

  /// "io_uring" or "threads": how batches are read on this machine.
  [[nodiscard]] static std::string_view io_backend();

 private:
  using KeyTable = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // rows by hashes of keys
  void open(const LoaderRequest& request, const Events& events);
  void open_file(const LoaderRequest& request, const std::string& file, const Events& events);
  void open_manifest_of(const LoaderRequest& request);
  void open_set(const LoaderRequest& request, const Events& events);
  void leave_out_appended(const std::string& self_hash);
  [[nodiscard]] LoaderState& state() const;
  void locate_in_shard(std::span<LocatedSample* const> samples,
                       const std::vector<bool>& wanted) const;
  [[nodiscard]] bool proves_crc32c() const {
    return proof_ != Proof::none && manifest().layout.has_value_checksums();
  }
  void watching(const std::function<void()>& work) const;
  void fetch_all(std::span<const Fetch> fetches) const;
  void prove_value(const OpenValue& value, std::uint32_t expected) const;
  /// Reads the hashes of all keys, many at a time, until `act`, which gets the row of the first,
  /// returns true.
  using HashSink = std::function<bool(std::uint64_t row, std::span<const std::uint64_t> hashes)>;
  void for_each_hashes(const Events& events, const HashSink& act) const;
  [[nodiscard]] const KeyTable& key_table(const Events& events) const;

  DatasetPaths paths_;
  ManifestOutline outline_;
  std::vector<std::string> notes_;
  std::string self_hash_;     // of the manifest
  std::string content_hash_;  // the same; of a set, with an index or without, that of its files
  std::vector<ManifestShard>
      held_shards_;  // that no manifest holds: of an index in memory, of a list
  std::vector<FileFingerprint>
      file_states_;  // of a set: of the files of all shards, in their order
  std::shared_ptr<const void> memory_;
  std::string file_;  // of another tool; empty: a dataset of shale
  FileStamp stamp_;   // of that file, or of the manifest, before it was opened
  Proof proof_;
  CachePolicy cache_;
  mutable std::atomic<LoaderState*> state_ = nullptr;
  mutable std::atomic<const KeyTable*> keys_ = nullptr;
};

/// The error for a field that the dataset does not have.
[[nodiscard]] Error no_such_field(std::string_view name);

/// The error for a tensor whose index says other than its dtype and shape how many bytes it has.
[[nodiscard]] Error wrong_tensor_bytes(const Loader& loader, const LocatedSample& sample,
                                       std::optional<std::size_t> field, std::uint64_t found,
                                       std::uint64_t expected);

/// Says of an error of a value what file, offset and sample it is about, as far as it does not say
/// so yet and that can be found out.
void add_place(Error& error, const Loader& loader, const LocatedSample& sample,
               std::optional<std::size_t> field);

}  // namespace shale
