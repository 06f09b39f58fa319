#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/row_storage.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/format.hpp"

// What the writer and the scanner of shale's own shards of columns agree on: which datasets there
// are, and where they are. formats/hdf5/FORMAT.md, "datasets".

namespace shale {

/// Every column begins at a multiple of this: no element lies across two cache lines.
inline constexpr std::uint64_t kColumnAlignment = 64;

/// Columns, if values are of one size and keys no more than numbers: then one dataset per field is
/// all there is.
[[nodiscard]] RowStorage hdf5_row_storage(const Schema& schema);

/// One dataset of a shard. The parts of a record: 0 the key, 1 + i field i; where rows are fixed i
/// field i, and none the key. Then, field by field, what it has of: where the elements of a list
/// end, counted from where it begins (uint64); the sides of a ragged tensor (uint64); whether the
/// value of an optional field is there (bool).
struct Hdf5Column {
  enum class Role {
    rows,      ///< one row per sample, all of one size
    flat,      ///< values of any size, one behind the other; of a list the elements
    offsets,   ///< where each value of a flat column begins, and where the last one ends; counted
               ///< in elements of its dtype
    elements,  ///< the same of each element of a list
    firsts,    ///< for each list the number of its first element, and how many there are in all
    shapes,    ///< a row per sample: the sides of a ragged tensor of several axes
    presence   ///< a row per sample: whether it has the value
  };
  std::string name;
  Role role = Role::rows;
  std::uint32_t part = 0;
  DType dtype;
  std::vector<std::uint64_t> row_shape;  ///< where each sample has a row: the sides of one

  /// The sides of the dataset, for a shard of so many samples whose part has so many bytes.
  [[nodiscard]] std::vector<std::uint64_t> sides(std::uint64_t samples,
                                                 std::uint64_t part_bytes) const;
  [[nodiscard]] std::uint64_t bytes(std::uint64_t samples, std::uint64_t part_bytes) const;
  /// The bytes of the part, of a dataset of so many bytes.
  [[nodiscard]] std::uint64_t part_bytes_of(std::uint64_t stored_bytes) const;
};

struct ColumnExtent {
  std::uint64_t offset = 0, length = 0;
};

/// The columns of every shard of one schema.
struct Hdf5Plan {
  std::vector<Hdf5Column> columns;  ///< fields in schema order, then the key
  RowStorage rows = RowStorage::indexed();
  std::size_t parts = 0;         ///< of a record
  std::size_t streamed = 0;      ///< the column that is written as its values come
  std::uint64_t head_bytes = 0;  ///< metadata, and zeros to where the streamed column begins
  std::string schema_text = {};  ///< of the root's attribute kSchemaAttribute; empty: it has none

  /// The keys of rows in columns are their numbers.
  [[nodiscard]] bool has_keys() const { return rows.has_index(); }
  /// The column that holds the values of a part.
  [[nodiscard]] std::size_t values_of(std::uint32_t part) const;
  /// The column that holds the values of a field.
  [[nodiscard]] std::size_t column_of(std::size_t field) const;
  /// The column of offsets into it, or of firsts; nullopt if its values are all of one size, or
  /// lists.
  [[nodiscard]] std::optional<std::size_t> offsets_of(std::uint32_t part) const;
  /// The part of what is next to the values of a field: its elements, shapes or presence;
  /// nullopt if it has none.
  [[nodiscard]] std::optional<std::uint32_t> beside(std::uint32_t part,
                                                    Hdf5Column::Role role) const;
};

/// True if the shapes of a field are stored: of one axis the number of elements says it.
[[nodiscard]] bool has_shapes(const Field& field);

/// All but `head_bytes` and `schema_text`, which are the format's. Errors: Code::unsupported for
/// fields whose names are those of datasets beside others.
[[nodiscard]] Hdf5Plan plan_of_fields(const Schema& schema);

/// Where each column lies in a shard of so many samples, and as the last one the end of the file.
/// The streamed one comes first, then the others in their order. A column without bytes lies
/// nowhere: its values, all empty, are placed at byte 0.
[[nodiscard]] std::vector<ColumnExtent> place_columns(const Hdf5Plan& plan, std::uint64_t samples,
                                                      std::span<const std::uint64_t> part_bytes);

}  // namespace shale
