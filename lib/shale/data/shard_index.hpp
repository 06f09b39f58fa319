#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/row_storage.hpp"
#include "shale/data/schema.hpp"

namespace shale {

/// Where a value that is absent lies.
inline constexpr std::uint64_t kMissing = ~std::uint64_t{0};

/// Where one value lies in its file of the shard.
struct FieldPlace {
  std::uint64_t offset = kMissing;
  std::uint64_t length = 0;
  std::uint32_t crc32c = 0;  ///< of the stored bytes of the extent
  std::uint32_t count = 0;   ///< elements of a list
  /// The row of a list's first element in the shard's list of elements, if it has one. The index
  /// numbers them; a container does not say, so places are equal without it.
  std::uint64_t first = 0;
  friend bool operator==(const FieldPlace& one, const FieldPlace& other) {
    return one.offset == other.offset && one.length == other.length && one.crc32c == other.crc32c &&
           one.count == other.count;
  }
};

/// What the index says of one field of one sample: a place, or the number itself.
struct IndexCell {
  FieldPlace place;           ///< bytes, text, tensor, list
  std::int64_t integer = 0;   ///< integer
  double real = 0;            ///< real
  bool lacks_number = false;  ///< of an optional field; the number is 0 then
  friend bool operator==(const IndexCell&, const IndexCell&) = default;
};

/// True if the sample has no value for the field.
[[nodiscard]] inline bool is_absent(const IndexCell& cell, const Field& field) {
  return is_located(field.kind) ? cell.place.offset == kMissing : cell.lacks_number;
}

/// One row of a shard's index: one sample.
struct IndexRow {
  FieldPlace key;
  std::uint64_t key_hash = 0;    ///< xxh3-64 of the key's bytes
  std::vector<IndexCell> cells;  ///< a field each, in schema order
  /// Where the elements of its lists lie, field by field; while the shard is written or scanned.
  std::vector<FieldPlace> elements = {};
  std::uint64_t record_offset = kMissing,
                record_length = 0;        ///< where the container keeps a sample in one piece
  std::vector<std::uint64_t> sides = {};  ///< of its ragged tensors, as ShapeWalk has them
  friend bool operator==(const IndexRow&, const IndexRow&) = default;
};

/// Adds where the parts of a sample begin to its places, those of elements among them: one number
/// for the key, one for each field, one for the record. What is missing stays so.
void move_places(IndexRow& row, std::uint64_t key_base, std::span<const std::uint64_t> field_bases,
                 std::uint64_t record_base);

/// Who laid the bytes of a shard, and so how its samples are to be read.
enum class Dialect : std::uint8_t {
  own,      ///< shale itself: the schema says what must be there
  plain,    ///< another tool: what the container itself tells
  msgpack,  ///< another tool, and each value is a msgpack map (--parse msgpack)
  // Layouts of LMDB files that known readers read: docs/foreign.md.
  coclr,       ///< CoCLR's videos: msgpack lists of frames
  lyken_old,   ///< folder2lmdb with msgpack
  caffe,       ///< Datum messages
  xunge,       ///< folder2lmdb with pickles
  thecml,      ///< the same, as a DataLoader collates it
  tensorpack,  ///< lists of fields, pickled or msgpack
  pickle,      ///< each value is a pickle of fields (--parse pickle)
  lsun,        ///< encoded images, and nothing else
  // Of HDF5 files.
  robomimic,  ///< a group per demonstration, a dataset per field
  samples,    ///< a group (or a dataset) per sample
  episodes,   ///< a group per episode, whose datasets have a row per step: each is a sample
  // Of files that are maps of keys.
  keys,  ///< fields are entries of their own, found by patterns of their keys
  // Of tar archives.
  webdataset,  ///< files of one name before its first dot are a sample
};
[[nodiscard]] std::string_view name_of(Dialect dialect);
/// Errors: Code::damaged for an unknown name.
[[nodiscard]] Dialect dialect_named(std::string_view name);
/// A layout with a name of its own: it decides which entries are samples, and their fields.
[[nodiscard]] constexpr bool is_layout(Dialect dialect) { return dialect > Dialect::msgpack; }

/// How the samples of a file of another tool are found in it.
struct Parsing {
  std::optional<Dialect> dialect = {};  ///< nullopt: the one that is recognized
  std::string keys = {};      ///< which entries make a sample (key_pattern.hpp); of Dialect::keys
  std::string database = {};  ///< of the named databases in the file, with commas; empty: the main

  Parsing() = default;
  Parsing(std::optional<Dialect> wanted)
      : dialect(wanted) {}                      // NOLINT(google-explicit-constructor)
  Parsing(Dialect wanted) : dialect(wanted) {}  // NOLINT(google-explicit-constructor)
  /// Something is asked for.
  [[nodiscard]] bool is_given() const { return *this != Parsing(); }
  friend bool operator==(const Parsing&, const Parsing&) = default;
};
/// What --parse and --database ask for: the name of a dialect, "auto" or nothing, or FIELD=PATTERN.
/// Errors: Code::usage for an unknown name.
[[nodiscard]] Parsing wanted_parsing(std::string_view parse, std::string_view database);
/// The options that ask for it, with a space in front of each, for commands that are shown; empty:
/// none are needed.
[[nodiscard]] std::string options_of(const Parsing& parsing);

/// How a format spreads one sample over the parts of a record and the files of a shard: fixed by
/// format, schema and options, known before the first sample.
struct ShardLayout {
  std::vector<std::string>
      file_suffixes;  ///< ".tfrecord": the files of a shard, in the manifest's order
  std::vector<std::uint32_t> part_file;  ///< for each part of a record: the file it goes to
  std::vector<std::uint32_t>
      field_part;  ///< for each field of the schema: the part it lies in (scalars: any)
  std::uint32_t key_part = 0;
  bool has_keys = true;            ///< false: the key of a row is its number
  bool has_whole_records = false;  ///< a sample is one run of bytes, its part 0
  RowStorage rows = RowStorage::indexed();
  Dialect dialect = Dialect::own;
  /// As in Parsing. Of other dialects than `keys`: in which order the entries are taken.
  std::string keys = {}, database = {};
  /// False for shards of other tools whose payload has not been read: their index has no crc32c,
  /// they have no block list, and their files no hash.
  bool has_checksums = true;
  /// Beside the index stands a list of where each element of a list lies.
  bool has_elements = false;
  /// Of a file of another tool: values that do not lie in it as they are read (decoded, joined of
  /// parts) are next to the index, in FILE.values. A part whose number in part_file is that of
  /// the file behind the last one lies there.
  bool has_values = false;
  /// The files have the class names, too: those that the set had when they were written.
  bool has_classes = false;
  /// Of a plain file of another tool: the layout that people know it by ("vlen"), for them to read;
  /// empty: none.
  std::string known_as = {};
  /// Each value has a crc32c in the index.
  [[nodiscard]] bool has_value_checksums() const {
    return has_checksums && rows.has_value_checksums();
  }
  /// True for the layout of FILE, which stands alone or has its index beside it (FILE.index.npy);
  /// false for that of a directory of shards.
  [[nodiscard]] bool is_of_one_file() const {
    return file_suffixes.size() == 1 && file_suffixes[0].empty();
  }
  friend bool operator==(const ShardLayout&, const ShardLayout&) = default;
};

/// How the samples of such a file were found.
[[nodiscard]] Parsing parsing_of(const ShardLayout& layout);
/// They were found as is asked for here.
[[nodiscard]] bool is_parsed_so(const ShardLayout& layout, const Parsing& wanted);
/// "--parse plain", "--database images": for messages.
[[nodiscard]] std::string words_of(const Parsing& parsing);

/// The layout of a known program, whether it decides how samples are read or not; empty: none.
[[nodiscard]] std::string_view layout_name_of(const ShardLayout& layout);

/// The same samples in a file of any name, instead of one that is named as a shard's. Errors:
/// Code::bug for shards of several files.
[[nodiscard]] ShardLayout as_one_file(ShardLayout layout);

}  // namespace shale
