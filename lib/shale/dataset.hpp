#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/callbacks.hpp"
#include "shale/field.hpp"

namespace shale {

class Loader;

/// What reading leaves in the kernel's page cache: all of it (`keep`), nothing (`drop`: what was
/// read is given back), or it goes past the cache (`direct`; `drop` where the file system refuses).
enum class CachePolicy { keep, drop, direct };

/// What is proved of what is read: nothing; what has checksums: the index by its hash when its
/// shard is first touched, each key and value by its crc32c; or all, which of fixed rows is each
/// block that a value lies in, and is refused where the index has no checksums.
enum class Proof { none, automatic, all };

struct DatasetOptions {
  std::vector<std::string> fields = {};  ///< only these, in this order; empty: all
  Proof proof = Proof::automatic;
  CachePolicy cache = CachePolicy::keep;
  /// (files of other tools) Where the index is, and where it is made if it is missing; empty:
  /// beside the file, or in memory.
  std::string index_folder = {};
  std::string parse = {};     ///< (files of other tools) as --parse of `shale index`; empty: auto
  std::string database = {};  ///< (LMDB files) as --database
};

/// A sample that was read.
struct OwnedSample {
  std::uint64_t row = 0;           ///< over the dataset
  std::string key;                 ///< raw bytes; the row's number where there are no keys
  std::vector<OwnedValue> values;  ///< in the order of Dataset::fields()
  /// In the same order, of a tensor its shape; empty for what is not a tensor, or absent.
  std::vector<std::vector<std::uint64_t>> shapes;
};

/// Random access to the samples of a dataset of shale's, or of a file of another tool, by pread
/// alone: nothing is mapped or locked. Memory: 32 bytes per shard, and what is returned. At most 64
/// descriptors. Thread-safe; copies share their files; after a fork both sides may go on.
class Dataset {
 public:
  /// Reads the manifest; shards are opened when they are touched. Errors: Code::not_found, also for
  /// a field that there is not; Code::mismatch for an unfinished dataset, or a file that has
  /// changed since it was indexed; Code::unsupported for anything that is not a dataset;
  /// Code::damaged; Code::io.
  explicit Dataset(const std::string& path, const DatasetOptions& options = {},
                   const Callbacks& callbacks = {});

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::vector<FieldInfo>& fields() const { return fields_; }
  /// The position of a field in fields(). Errors: Code::not_found.
  [[nodiscard]] std::size_t field(std::string_view name) const;
  /// Names by label; empty: there are none.
  [[nodiscard]] const std::vector<std::string>& classes() const;
  [[nodiscard]] const std::string& format() const;

  /// Errors of all that read: Code::not_found for a row from size() on; Code::damaged with file,
  /// offset and sample; Code::mismatch for files that were replaced since they were opened;
  /// Code::io.
  [[nodiscard]] OwnedSample read(std::uint64_t row) const;
  /// A batch, in the order of `rows`: read in the order of the disk, with many reads in flight.
  [[nodiscard]] std::vector<OwnedSample> read(std::span<const std::uint64_t> rows) const;
  /// The values of one field of all `rows` as one array of shape (rows, shape...), C order,
  /// little-endian: of a tensor its elements, of an integer int64, of a real float64. `into` has
  /// rows.size() * bytes_of_value(field) bytes. Errors besides: Code::usage for a field of another
  /// kind, or an `into` of another size; Code::schema for a sample that lacks the value.
  void read_array(std::size_t field, std::span<const std::uint64_t> rows,
                  std::span<std::byte> into) const;
  /// Errors: Code::usage for a field that is not a tensor, integer or real, and for tensors whose
  /// shapes differ; Code::not_found.
  [[nodiscard]] std::uint64_t bytes_of_value(std::size_t field) const;

  [[nodiscard]] std::string key(std::uint64_t row) const;
  /// The first row with this key. The first call reads the hashes of all keys, and keeps those of
  /// up to 4 Mi samples, 16 bytes each. Errors besides: Code::interrupted.
  [[nodiscard]] std::optional<std::uint64_t> find(std::string_view key,
                                                  const Callbacks& callbacks = {}) const;

 private:
  std::shared_ptr<const Loader> loader_;
  std::uint64_t size_ = 0;
  std::vector<FieldInfo> fields_;
  std::vector<std::size_t> positions_;  // of fields_ in the schema of the dataset
  std::vector<bool> wanted_;            // of the fields of that schema
};

}  // namespace shale
