#pragma once

#include <string>

#include "shale/base/events.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/opened_dataset.hpp"

namespace shale {

/// Makes one dataset of an indexed file and of the arrays that were unpacked beside it, a record
/// for each of its samples: numbers that do not lie in the file as arrays. All else stays where it
/// is: the shard has two files, and a new index in `scratch_folder`, whose fields are sorted by
/// name. The rows of both have an index without checksums. Errors: Code::bug if they do not have as
/// many rows; Code::io.
void add_arrays(OpenedDataset& dataset, const NamelessIndex& arrays,
                const std::string& scratch_folder, const Events& events);

}  // namespace shale
