#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shale/datasets/open_dataset.hpp"
#include "shale/format/source.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// What of the samples of a dataset is taken.
struct DatasetSelection {
  std::vector<std::string> fields = {};  ///< only these, in this order; empty: all
  /// Called while files are proved: may throw Code::interrupted.
  std::function<void()> stop_if_asked = [] {};
};

/// The samples of a dataset, of any format: the payload is read by the index, never through the
/// container's library. Nothing is handed out that is not proved, where the manifest has the
/// hashes: each index and block list before the first row of its shard, keys and values by the
/// crc32c in the index, and all samples by SourceInfo::digest. Fixed rows come in runs: where only
/// some fields are taken, it is the hashes of their files that prove them, before they are read.
/// They are not put in another order here: RowTable is for that.
/// Errors: Code::usage for a field that the dataset does not have, or that is named twice;
/// Code::damaged for one of the files beside the shards.
[[nodiscard]] std::unique_ptr<OrderableSource> make_dataset_source(
    OpenedDataset dataset, const DatasetSelection& selection);

/// Proves the files that hold these fields in a shard, by their hashes: for rows that are fixed,
/// and have no checksum of their own. `stop_if_asked` is called before each block. Errors: same as
/// prove_file.
void prove_files_of(const ShardReader& shard, const ShardLayout& layout,
                    std::span<const std::size_t> fields,
                    const std::function<void()>& stop_if_asked);

/// Looks for two samples with the same key in a file of another tool, before anything is written:
/// by the hashes of keys in its index, which is read once, and the keys whose hashes are equal.
/// An index may lie; the check of the keys that are written (ShardSetWriter) has the last word.
/// `scratch_folder` is for hashes that outgrow 4 MiB; `stop_if_asked` is called again and again.
/// Errors: Code::schema for two such samples; Code::damaged, Code::io.
void refuse_equal_keys(const OpenedDataset& dataset, const std::string& scratch_folder,
                       const std::function<void()>& stop_if_asked);

/// What the user is told of a file whose keys are decimal numbers in another order than theirs, as
/// LMDB sorts them; else empty. By the first keys. Errors: Code::damaged, Code::io.
[[nodiscard]] std::string note_on_order(const OpenedDataset& dataset);

}  // namespace shale
