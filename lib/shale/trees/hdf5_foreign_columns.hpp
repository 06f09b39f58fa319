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
#include "shale/trees/hdf5_description.hpp"
#include "shale/trees/hdf5_elements.hpp"

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

/// Finds the columns: the datasets of one table (hdf5_tables.hpp). `X` with `X_offset` or
/// `X_offsets` (and `data` with `offsets`) is one column, of lists if there is an `X_first` that
/// divides all of its values; `key` or `keys`, if it is bytes or text, is the key. Reads no sample
/// (but offsets, where only they tell).
/// Errors: Code::unsupported, by dataset and reason, for what cannot be located or has no meaning
/// here; Code::damaged, Code::limit.
[[nodiscard]] Hdf5ForeignColumns find_hdf5_columns(Hdf5Description description,
                                                   const InputFile& file);

/// Why its rows do not lie in the file as they are; empty if they do.
[[nodiscard]] std::string hdf5_storage_fault(const Hdf5Dataset& dataset);

/// Errors: Code::unsupported where a dataset's name cannot be that of a field.
void check_hdf5_names(const Schema& schema);

/// Errors: Code::unsupported for two paths that would be one field, with the words that take one of
/// them. `fields`: a path and the name of its field each.
void check_hdf5_paths(const std::vector<std::pair<std::string, std::string>>& fields);
/// Numbers are in the index, where there is no word for "missing". Errors: Code::unsupported for
/// rows that were never written.
void need_all_rows(const Hdf5Dataset& dataset);

/// The error for a dataset whose storage cannot be read by index, with the hint what can be done.
[[nodiscard]] Error cannot_locate_error(const Hdf5Dataset& dataset, std::string_view reason);

}  // namespace shale
