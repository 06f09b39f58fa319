#pragma once

#include <functional>
#include <string>

#include "shale/datasets/open_dataset.hpp"

namespace shale {

/// Looks for two samples with the same key in a file of another tool, before anything is written:
/// by the hashes of keys in its index, which is read once, and the keys whose hashes are equal.
/// An index may lie; the check of the keys that are written (ShardSetWriter) has the last word.
/// `scratch_folder` is for hashes that outgrow 4 MiB; `stop_if_asked` is called again and again.
/// Errors: Code::schema for two such samples; Code::damaged, Code::io.
void refuse_equal_keys(const OpenedDataset& dataset, const std::string& scratch_folder,
                       const std::function<void()>& stop_if_asked);

}  // namespace shale
