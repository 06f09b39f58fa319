#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What the footer and the pages of a Parquet file say, as plain structs: for what reads it and for
// what writes it. Numbers of enumerations are those of the file.
// Source: apache/parquet-format, parquet.thrift.

namespace shale {

/// In front of each value of bytes that is stored plain.
inline constexpr std::uint64_t kValueLengthBytes = 4;

/// How the values of a column are stored.
enum class ParquetType : std::uint8_t {
  boolean = 0,
  int32 = 1,
  int64 = 2,
  int96 = 3,
  float32 = 4,
  float64 = 5,
  byte_array = 6,
  fixed_bytes = 7,
};

enum class ParquetRepetition : std::uint8_t { required = 0, optional = 1, repeated = 2 };

enum class ParquetCodec : std::uint8_t {
  uncompressed = 0,
  snappy = 1,
  gzip = 2,
  lzo = 3,
  brotli = 4,
  lz4 = 5,  ///< as Hadoop frames it
  zstd = 6,
  lz4_raw = 7,
};
/// "snappy"; the number for an unknown one.
[[nodiscard]] std::string name_of(ParquetCodec codec);

enum class ParquetEncoding : std::uint8_t {
  plain = 0,
  plain_dictionary = 2,
  rle = 3,
  bit_packed = 4,
  delta_binary_packed = 5,
  delta_length_byte_array = 6,
  delta_byte_array = 7,
  rle_dictionary = 8,
  byte_stream_split = 9,
};

/// What the values of a column mean: one for the two annotations that a file may have of it
/// (LogicalType and the older ConvertedType).
enum class ParquetMeaning : std::uint8_t {
  none,
  string,
  enumeration,
  json,
  bson,
  uuid,
  decimal,
  date,
  time,
  timestamp,
  interval,
  integer,
  float16,
  null,  ///< no value is ever there
  list,  ///< of groups
  map,
  other,  ///< an annotation that is not known here
};
enum class ParquetUnit : std::uint8_t { milliseconds, microseconds, nanoseconds };

struct ParquetAnnotation {
  ParquetMeaning meaning = ParquetMeaning::none;
  ParquetUnit unit = ParquetUnit::milliseconds;  ///< of time and timestamp
  bool is_utc = false;                           ///< of time and timestamp
  std::uint8_t bits = 0;                         ///< of an integer: 8 to 64
  bool is_signed = true;                         ///< of an integer
  std::int32_t scale = 0, precision = 0;         ///< of a decimal
  friend bool operator==(const ParquetAnnotation&, const ParquetAnnotation&) = default;
};

/// A node of the schema. They are listed depth first; the first one is the root.
struct ParquetElement {
  std::string name;
  std::optional<ParquetType> type = {};  ///< none: a group
  std::int32_t type_length = 0;          ///< of fixed_bytes
  ParquetRepetition repetition = ParquetRepetition::required;
  std::int32_t children = 0;
  ParquetAnnotation annotation = {};
};

/// A column of one row group: pages, one behind the other.
struct ParquetChunk {
  ParquetType type = ParquetType::byte_array;
  ParquetCodec codec = ParquetCodec::uncompressed;
  std::int64_t slots = 0;               ///< values, with those that are null (num_values)
  std::int64_t uncompressed_bytes = 0;  ///< of its pages with their headers
  std::int64_t stored_bytes = 0;        ///< the same, compressed
  std::int64_t data_page_offset = 0;
  std::optional<std::int64_t> dictionary_page_offset = {};
  std::int64_t offset_index_offset = 0, column_index_offset = 0;  ///< 0: there is none
  std::int32_t offset_index_bytes = 0, column_index_bytes = 0;
  std::uint32_t encodings = 0;             ///< a bit per ParquetEncoding that it says it has
  std::optional<std::int64_t> nulls = {};  ///< as its statistics say
};

struct ParquetRowGroup {
  std::vector<ParquetChunk> chunks;  ///< one per column (leaf of the schema), in their order
  std::int64_t rows = 0;
  std::int64_t uncompressed_bytes = 0;
};

struct ParquetKeyValue {
  std::string key, value;
};

/// FileMetaData, the footer.
struct ParquetFooter {
  std::int32_t version = 1;
  std::vector<ParquetElement> schema;
  std::int64_t rows = 0;
  std::vector<ParquetRowGroup> row_groups;
  std::vector<ParquetKeyValue> key_values;
  std::string created_by;
};

enum class ParquetPageKind : std::uint8_t { data = 0, index = 1, dictionary = 2, data_v2 = 3 };

struct ParquetPageHeader {
  ParquetPageKind kind = ParquetPageKind::data;
  std::int32_t uncompressed_bytes = 0;
  std::int32_t stored_bytes = 0;  ///< behind the header
  /// CRC-32 of the stored bytes; the file has it as an i32.
  std::optional<std::uint32_t> crc = {};
  std::int32_t slots = 0;  ///< values, with those that are null (num_values)
  ParquetEncoding encoding = ParquetEncoding::plain;
  ParquetEncoding definition_encoding = ParquetEncoding::rle;
  ParquetEncoding repetition_encoding = ParquetEncoding::rle;
  /// Of a page of version 2.
  std::int32_t nulls = 0, rows = 0, definition_bytes = 0, repetition_bytes = 0;
  bool is_compressed = true;
  /// Of the header itself: where the page's bytes begin behind it. Not in the file.
  std::uint64_t header_bytes = 0;
};

}  // namespace shale
