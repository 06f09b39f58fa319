#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/format/format.hpp"
#include "shale/format/row_groups.hpp"
#include "shale/parquet/parquet_writing.hpp"

// What the writer and the scanner of shale's own files agree on: which columns there are, and how
// many bytes they take. FORMAT.md, "files of shale".

namespace shale {

/// Of a string that a page gives as its least or greatest value: a longer one would have to be cut.
inline constexpr std::uint64_t kMostBoundBytes = 64;
/// Of a value that is a list of lists: its levels may be as large, and their runs are held.
inline constexpr std::uint64_t kMostNestedBytes = 8 << 20;

/// A column of the file: a leaf of its schema. The parts of a record: 0 the key, 1 + i field i.
struct ParquetLeaf {
  std::uint32_t part = 0;
  ParquetType type = ParquetType::byte_array;
  std::uint32_t value_level = 1;  ///< the definition level of a value
  bool is_list = false;           ///< rows have any number of slots
  std::uint64_t inner = 0;        ///< of a list of lists: the numbers of each
  bool is_npy = false;            ///< its values are .npy files
  bool is_path = false;           ///< of media: nothing but levels, one below that of a value
  bool has_bounds = false;        ///< its pages tell the least and the greatest value
  bool is_optional = false;
  std::uint64_t item_bytes = 0;  ///< of a value in its part; 0: any number
  [[nodiscard]] bool is_of_bytes() const { return type == ParquetType::byte_array && !is_path; }
  /// Of an element of its list, which may be a list.
  [[nodiscard]] std::uint64_t slot_bytes() const {
    return item_bytes * std::max<std::uint64_t>(inner, 1);
  }
  /// In the part the elements of a list have their lengths, as they have in the file.
  [[nodiscard]] bool adds_length() const { return is_of_bytes() && !is_list; }
};

/// The columns of every file of one schema.
struct ParquetPlan {
  std::vector<ParquetLeaf> leaves = {};
  std::vector<WrittenColumn> columns = {};  ///< one per leaf
  std::size_t streamed = 0;                 ///< the leaf that is written as its values come
  std::size_t parts = 0;
  std::uint64_t row_group_bytes = 0;
  [[nodiscard]] bool has_key_column() const { return leaves.back().part == 0; }
  /// The leaves in the order in which their pages lie in a row group.
  [[nodiscard]] std::vector<std::size_t> order() const;
};

/// Errors: Code::unsupported for more fields than a file is given.
[[nodiscard]] ParquetPlan plan_parquet(const Schema& schema, std::uint64_t row_group_bytes);

/// The row group size of the options. Errors: Code::usage for less than 1 MiB or more than 1 GiB.
[[nodiscard]] std::uint64_t row_group_bytes_of(const OptionSet& options);

/// All of the end of a file but its row groups.
/// `keys_are_text`: the keys are UTF-8, and their column says so.
[[nodiscard]] WrittenFile describe_parquet(const ParquetPlan& plan, const Schema& schema,
                                           const LabelNames& names, bool keys_are_text);

/// The schema of a file that shale wrote, by the text that it has of it; nullopt for any other.
[[nodiscard]] std::optional<Schema> schema_of_key_values(std::span<const ParquetKeyValue> pairs);

/// How large a file becomes: exactly, since zeros in front of the footer make up for what is only
/// known when the values are. Says where pages and row groups begin, too.
class ParquetMeasure {
 public:
  ParquetMeasure(const ParquetPlan& plan, const Schema& schema);

  [[nodiscard]] std::uint64_t most_rows() const { return most_rows_; }
  /// A row with parts of these sizes would not be in the row group at hand.
  [[nodiscard]] bool closes_group(std::span<const std::uint64_t> parts) const;
  void close_group();
  /// A row with such a part begins a page of the leaf, in the row group at hand.
  [[nodiscard]] bool begins_page(std::size_t leaf, std::span<const std::uint64_t> parts) const;
  void add(std::span<const std::uint64_t> parts);
  /// Bytes of the file, and with one more row.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t bytes_with(std::span<const std::uint64_t> parts) const;

 private:
  [[nodiscard]] std::uint64_t bytes_of_row(std::span<const std::uint64_t> parts) const;

  const ParquetPlan plan_;
  std::uint64_t row_bytes_ = 0, group_overhead_ = 0, most_rows_;
  std::vector<std::uint64_t> page_overhead_;  // per leaf, as these:
  std::vector<std::uint64_t> pending_;        // of the page at hand, with 4 a row
  std::vector<std::size_t> nested_;           // leaves that are lists of lists
  std::uint64_t bytes_, group_bytes_ = 0, group_rows_ = 0;
};

}  // namespace shale
