#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shale/arrays/array_rows.hpp"
#include "shale/arrays/located_rows.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/format/source.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/sources/dataset_source.hpp"

namespace shale {

/// The rows of one field.
struct RowColumn {
  ScratchNeed scratch;  ///< of locate()
  /// Their positions. Called once, by the owner of what the table was opened with: what does not
  /// lie in rows (compressed, in Fortran order) is written into a nameless scratch file, and the
  /// files of a dataset are proved by their hashes. Errors: same as ArrayRows::locate;
  /// Code::damaged.
  std::function<std::unique_ptr<const LocatedRows>(const Events&)> locate;
};

/// An input whose rows are all of one size, to be read in any order.
struct RowTable {
  SourceInfo info;                 ///< as of the source that reads it in order
  std::vector<RowColumn> columns;  ///< of each field

  /// Bytes of a row of one field.
  [[nodiscard]] std::uint64_t row_bytes(std::size_t field) const;
};

/// Reads no rows. Errors: same as open_array_source.
[[nodiscard]] RowTable table_of_arrays(const ArrayRequest& request, const Events& events = {});

/// nullopt for a dataset whose rows differ in size. Errors: same as make_dataset_source; same as
/// ShardReader.
[[nodiscard]] std::optional<RowTable> table_of_dataset(const OpenedDataset& dataset,
                                                       const DatasetSelection& selection);

/// False for a dataset of fixed rows of which something is damaged in these fields: its files are
/// read, and compared with their hashes. Errors: Code::usage for a field that it does not have;
/// Code::io.
[[nodiscard]] bool are_whole_rows(const OpenedDataset& dataset, const FieldChoice& fields,
                                  const std::function<void()>& stop_if_asked);

}  // namespace shale
