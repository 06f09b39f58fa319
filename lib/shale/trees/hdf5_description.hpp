#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/data/sample_axis.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/file_contents.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// What the elements of a dataset are.
enum class Hdf5Type : std::uint8_t {
  number,        ///< integer, float, bool, complex, NumPy time: `descr` says which
  fixed_text,    ///< strings of one length, padded: descr "|S10"
  vlen_bytes,    ///< sequences of uint8
  vlen_numbers,  ///< sequences of other numbers: `descr` says which
  vlen_text,     ///< strings of any length
  other,         ///< nothing that shale has a kind for: `type_name` says it in words
};

/// How a dataset lies in its file.
enum class Hdf5Storage : std::uint8_t {
  absent,      ///< nothing was ever written, or there is nothing to write
  contiguous,  ///< one run of bytes
  chunked,
  compact,   ///< inside the dataset's own header
  external,  ///< in other files
  composed,  ///< "virtual": of pieces of other datasets
  referred,  ///< each value is a dataset of its own, or several: of variable length
};

/// Chunks that follow one another, in the dataset and in the file.
struct Hdf5ChunkRun {
  std::uint64_t first = 0;  ///< number of the first chunk, counted along the first dimension
  std::uint64_t address = 0;
  std::uint64_t count = 0;
  friend bool operator==(const Hdf5ChunkRun&, const Hdf5ChunkRun&) = default;
};

struct Hdf5Dataset {
  std::string name;  ///< its path: "x", "infos/qpos"; of a member of a compound type "events.time"
  std::string member;  ///< "time"; empty: the elements as a whole
  Hdf5Type type = Hdf5Type::other;
  std::string descr;      ///< NumPy's, byte order included; of numbers and fixed_text
  std::string type_name;  ///< for people: "a reference"
  /// Of an enumeration of numbers: what each is called, by ascending number.
  std::vector<std::pair<std::int64_t, std::string>> names;
  std::uint64_t element_bytes = 0;  ///< as stored, of a member its own
  std::uint64_t record_bytes = 0;   ///< of a member: of an element of its dataset
  std::uint64_t stored_bytes = 0;   ///< of all, as they lie in the file
  bool has_shape = false;           ///< false: a null dataspace, or composed
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> element_shape;  ///< of elements that are arrays; of numbers, strings
  Hdf5Storage storage = Hdf5Storage::absent;
  std::vector<std::string> sources;   ///< external, composed: the other files that are missing
  std::vector<NamedText> attributes;  ///< that nobody's library keeps its books with
  std::vector<std::string> filters;
  std::vector<std::uint64_t> chunk;  ///< sides of a chunk
  /// Where rows lie, ascending, as offsets in the file. Contiguous storage is one chunk of all
  /// rows. Empty where a chunk does not hold whole rows as they are (filters, other sides split).
  std::vector<Hdf5ChunkRun> runs;
  std::size_t axis = 0;  ///< along which its samples lie; not part of a description

  /// Where it is opened.
  [[nodiscard]] std::string path() const;
  /// "infos_qpos", "events_time"; at the root the name itself.
  [[nodiscard]] std::string field_name() const;
  [[nodiscard]] bool is_at_root() const { return name.find('/') == std::string::npos; }
  /// Its sides with that of its samples first.
  [[nodiscard]] std::vector<std::uint64_t> sides() const {
    return axis == 0 ? shape : with_side_first(shape, axis);
  }
  /// The same with those of its elements: as NumPy sees it.
  [[nodiscard]] std::vector<std::uint64_t> all_sides() const;
  /// Rows that one chunk of `runs` holds.
  [[nodiscard]] std::uint64_t rows_per_chunk() const {
    return storage == Hdf5Storage::chunked ? chunk.at(0) : shape.at(0);
  }
  /// Whether its rows are references to the global heap.
  [[nodiscard]] bool has_variable_length() const {
    return type == Hdf5Type::vlen_bytes || type == Hdf5Type::vlen_numbers ||
           type == Hdf5Type::vlen_text;
  }
  /// Of variable length: bytes of one of the elements that a reference counts.
  [[nodiscard]] std::uint64_t sequence_item_bytes() const;
  /// Whether its elements are big-endian in values that stay as they lie: tensors and sequences.
  /// Numbers are turned around as they are read.
  [[nodiscard]] bool has_to_be_turned() const;
  /// Whether a chunk holds whole rows, one after the other.
  [[nodiscard]] bool has_whole_rows() const;
  /// Bytes of one row. Errors: Code::limit if they do not fit in 63 bits.
  [[nodiscard]] std::uint64_t row_bytes() const;
};

/// The rows of one dataset of a described file: their positions, and their numbers. The
/// dataset and the file outlive it. Not thread-safe; ascending rows are fastest.
class Hdf5Rows {
 public:
  Hdf5Rows(const Hdf5Dataset& dataset, const InputFile& file)
      : dataset_(&dataset),
        row_bytes_(dataset.row_bytes()),
        per_chunk_(dataset.rows_per_chunk()),
        window_(file, kWindowBytes) {}

  [[nodiscard]] const Hdf5Dataset& dataset() const { return *dataset_; }
  [[nodiscard]] std::uint64_t count() const { return dataset_->shape[0]; }
  [[nodiscard]] std::uint64_t row_bytes() const { return row_bytes_; }

  /// Where `rows` rows from `first` on lie, if they lie in one piece; nothing if they do not, or
  /// are not there. `first + rows` is at most count(), `rows` at least 1.
  [[nodiscard]] std::optional<std::uint64_t> locate(std::uint64_t first, std::uint64_t rows = 1);
  /// Whether the row was ever written.
  [[nodiscard]] bool exists(std::uint64_t row) { return run_of(row) != nullptr; }

  /// The bytes of a row that exists; valid until the next call. Errors: Code::damaged, Code::io.
  [[nodiscard]] Bytes bytes(std::uint64_t row);
  /// A number that exists, of an integer dataset; uint64 above 2^63 as its negative twin. Errors:
  /// same as bytes().
  [[nodiscard]] std::int64_t integer(std::uint64_t row);
  /// A number that exists; `field` is the integer or real that the dataset is. Errors: same as
  /// bytes(); Code::damaged for a bool that is neither 0 nor 1.
  [[nodiscard]] IndexCell number(std::uint64_t row, const Field& field);

 private:
  [[nodiscard]] const Hdf5ChunkRun* run_of(std::uint64_t row);
  // The element of a row, first byte least significant.
  [[nodiscard]] std::uint64_t element(std::uint64_t row);

  // A file may have a thousand columns.
  static constexpr std::uint64_t kWindowBytes = 16 * 1024;

  const Hdf5Dataset* dataset_;
  std::uint64_t row_bytes_, per_chunk_;
  WindowReader window_;
  std::size_t last_run_ = 0;
};

/// A group `data/demo_N`, as robomimic's files have them.
struct Hdf5Demo {
  std::string name;                      ///< "demo_7"
  std::uint64_t number = 0;              ///< 7
  std::optional<std::uint64_t> samples;  ///< its attribute num_samples
  std::vector<Hdf5Dataset> datasets;     ///< at any depth, by their paths: "data/demo_7/obs/image"
};

/// Where the samples of a file are that has a group for each (hdf5_sample_walk.hpp).
struct Hdf5SamplePlace {
  std::string parent;       ///< "/", "data"
  bool is_clear;            ///< several groups with numbers in their names, alike, and nothing else
  std::uint64_t count = 0;  ///< of what lies there
  bool is_file = false;     ///< there are none: all that the file holds is one sample, or episode
};

/// What an HDF5 file holds, and in the groups `data/demo_N`.
struct Hdf5Description {
  std::uint64_t base_address = 0;  ///< what addresses inside the file count from: the user block
  std::uint8_t address_bytes = 8;
  std::uint8_t length_bytes = 8;
  std::vector<Hdf5Dataset> datasets;  ///< at any depth, by path, bytewise
  std::vector<std::string> others;    ///< "group 'meta'": what is not described, the first few
  std::uint64_t other_count = 0;
  std::vector<NamedText> attributes;  ///< of the file, as those of a dataset
  std::vector<Hdf5Demo> demos;        ///< by number, then by name
  std::vector<std::string>
      demo_others;  ///< what in them is neither group nor dataset, the first few
  std::optional<Hdf5SamplePlace> samples;  ///< where a group per sample may be
  bool is_large = false;  ///< more objects than a table has: only the first are described
};

/// The error for more objects in a group than are described.
[[nodiscard]] Error too_many_hdf5_objects(std::size_t most, std::string_view where);
/// The error for a dataset that is not what it was when it was described.
[[nodiscard]] Error hdf5_dataset_changed(std::string_view name);

/// N of "demo_N"; nullopt for any other name.
[[nodiscard]] std::optional<std::uint64_t> number_of_demo(std::string_view name);

// A description crosses the pipe from the child that asked the library. Each message is one of
//   u8 1, u64 base address, u8 bytes of an address, u8 bytes of a length,    once, the first
//         list of attributes, each a name and its value as text
//   u8 2, dataset without its runs                                           once a dataset
//   u8 3, (u64 chunk, u64 address)...                                        of the last dataset
//   u8 4, text                                                               something else
//   u8 5, text, u8 1, u64 samples (or u8 0, u64 0)                           once a demo, the last:
//                                                                            2 to 4 then are of it
//   u8 6, u8 is clear, u64 count, text                                       where samples may be
//   u8 7                                                                     there is more
// Texts are u32 length and bytes; lists are u32 count and elements.
[[nodiscard]] std::vector<std::byte> encode_facts(const Hdf5Description& description);
[[nodiscard]] std::vector<std::byte> encode_dataset(const Hdf5Dataset& dataset);
[[nodiscard]] std::vector<std::byte> encode_other(const std::string& what);
[[nodiscard]] std::vector<std::byte> encode_demo(const Hdf5Demo& demo);
[[nodiscard]] std::vector<std::byte> encode_sample_place(const Hdf5SamplePlace& place);
[[nodiscard]] std::vector<std::byte> encode_large_root();

/// A chunk's number along the first dimension, and its address.
struct Hdf5ChunkAt {
  std::uint64_t chunk = 0, address = 0;
};
[[nodiscard]] std::vector<std::byte> encode_chunks(const std::vector<Hdf5ChunkAt>& chunks);

/// Puts a description together from its messages, which are not trusted: the child's memory was the
/// file's to corrupt. Memory: the file's size + 32 MiB at most.
class Hdf5DescriptionReader {
 public:
  explicit Hdf5DescriptionReader(std::uint64_t file_bytes) : file_bytes_(file_bytes) {}

  /// Errors: Code::damaged for a message that makes no sense, or places outside of the file;
  /// Code::limit.
  void take(Bytes message);
  [[nodiscard]] Hdf5Description finish();

 private:
  void take_dataset(ByteReader& in);
  void take_demo(ByteReader& in);
  void take_other(ByteReader& in);
  [[nodiscard]] std::vector<Hdf5Dataset>& datasets() {
    return description_.demos.empty() ? description_.datasets : description_.demos.back().datasets;
  }
  void take_chunk(Hdf5Dataset& dataset, Hdf5ChunkAt at);
  void keep(std::uint64_t bytes);

  std::uint64_t file_bytes_;
  std::uint64_t kept_bytes_ = 0;
  bool has_facts_ = false;
  Hdf5Description description_;
};

}  // namespace shale
