#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"

#include "formats/hdf5/foreign/hdf5_description.hpp"

namespace shale {

/// One field (or the key) of the samples of a file that another tool made.
struct Hdf5ForeignColumn {
  enum class Form {
    rows,   ///< row i of the dataset is the value of sample i
    flat,   ///< bytes [offsets[i], offsets[i + 1]) of a dataset of uint8
    list,   ///< elements [firsts[i], firsts[i + 1]) of such values
    vlen,   ///< row i refers to the global heap: bytes, a string or an array of one axis
    padded  ///< row i without the NULs at its end; a key only
  };
  Field field;
  Form form = Form::rows;
  const Hdf5Dataset* data = nullptr;
  const Hdf5Dataset* offsets = nullptr;  ///< of flat and list
  const Hdf5Dataset* firsts = nullptr;   ///< of list
  /// Text or bytes: what the values are decides, not the type.
  [[nodiscard]] bool may_be_text() const { return data->type == Hdf5Type::vlen_text; }
};

/// The samples of a file that another tool made, as columns.
struct Hdf5ForeignColumns {
  Hdf5Description description;  ///< what the columns point into
  std::uint64_t rows = 0;
  std::vector<Hdf5ForeignColumn> fields;  ///< by name, bytewise
  std::optional<Hdf5ForeignColumn> key;   ///< none: the key of a row is its number
  UnpackReport left;                      ///< what is left out

  [[nodiscard]] Schema schema() const;
  /// Where row 0 of each field lies, if no index is needed to find the others: there are rows and
  /// no keys, and each dataset has its rows one behind the other, little-endian.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> fixed_bases() const;
  /// The layout that people know such a file by (docs/foreign.md); empty: none.
  [[nodiscard]] std::string layout_name() const;
};

/// Finds the columns: all datasets at the root, of the same first dimension. `X` with `X_offset` or
/// `X_offsets` (and `data` with `offsets`) is one column, of lists if there is an `X_first` that
/// divides all of its values; `key` or `keys`, if it is bytes or text, is the key. Reads no sample
/// (but offsets, where only they tell).
/// Errors: Code::unsupported, by dataset and reason, for what cannot be located or has no meaning
/// here; Code::damaged, Code::limit.
[[nodiscard]] Hdf5ForeignColumns find_hdf5_columns(Hdf5Description description,
                                                   const InputFile& file);

/// What of the root is left out: single values, groups, links, and what no field can hold; and the
/// names that the numbers of `label` have.
[[nodiscard]] UnpackReport left_out_of(const Hdf5Description& description);

/// One of Hdf5Description::others: "group 'meta'".
[[nodiscard]] LeftOut left_out_of_words(const std::string& words, std::string_view reason);

/// Whether a dataset at the root has rows: the others are left out.
[[nodiscard]] bool is_column_dataset(const Hdf5Dataset& dataset);
/// Why no field can hold its elements, as an error of Code::unsupported; nullopt: one can.
[[nodiscard]] std::optional<Error> hdf5_elements_fault(const Hdf5Description& description,
                                                       const Hdf5Dataset& dataset);
/// Whether a dataset at the root becomes a field, or part of one: it has rows that a field can
/// hold.
[[nodiscard]] bool is_taken(const Hdf5Description& description, const Hdf5Dataset& dataset);
/// Errors: Code::unsupported, with both, for datasets of different numbers of rows; none where one
/// may be cut into rows by another.
void check_plain_rows(std::span<const Hdf5Dataset* const> datasets);
/// Of an enumeration of 0, 1, 2 ... called `label`, the class table that it is; else empty.
[[nodiscard]] std::vector<std::string> class_names_of(const Hdf5Dataset& dataset);

/// Why its rows do not lie in the file as they are; empty if they do.
[[nodiscard]] std::string hdf5_storage_fault(const Hdf5Dataset& dataset);

/// Errors: Code::unsupported, by dataset, for elements that no field can hold.
void check_hdf5_elements(const Hdf5Description& description, const Hdf5Dataset& dataset);

/// A dataset of rows, of any kind but variable length, as a field of its name. Errors:
/// Code::unsupported, by dataset, for elements that no field can hold.
[[nodiscard]] Field hdf5_field_of(const Hdf5Dataset& dataset);
/// Errors: Code::unsupported where a dataset's name cannot be that of a field.
void check_hdf5_names(const Schema& schema);
/// Numbers are in the index, where there is no word for "missing". Errors: Code::unsupported for
/// rows that were never written.
void need_all_rows(const Hdf5Dataset& dataset);

/// The error for a dataset whose storage cannot be read by index, with the hint what can be done.
[[nodiscard]] Error cannot_locate_error(const Hdf5Dataset& dataset, std::string_view reason);

}  // namespace shale
