#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shale/base/events.hpp"
#include "shale/labels/sample_choice.hpp"

namespace shale {

/// True for a file that is called one, .csv or .tsv, and for annotations of COCO.
[[nodiscard]] bool is_table(const std::string& path);

/// The rows of a table (CSV or TSV, as read_csv has them) as samples, for a join. The first row
/// names the columns. The first of the columns file_name, filename, file, path, key, image is the
/// key, and not a field. A column of whole numbers is integer, one of numbers real, any other
/// text; an empty cell of numbers is absent. Annotations (annotations/annotation_rows) are rows of
/// their images, whose classes are in the info. Memory: one row; all of them are in the temporary
/// folder. Errors: Code::bad_content, by row, for one of another length than the first, for a
/// column without name or that comes twice, for a table without rows; Code::io; same as read_csv
/// and read_coco.
[[nodiscard]] std::unique_ptr<OrderableSource> make_table_source(const std::string& path,
                                                                 const Events& events);

}  // namespace shale
