#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shale/data/field_choice.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/format/source.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// What of the samples of a dataset is taken.
struct DatasetSelection {
  FieldChoice fields = {};  ///< as they are called: new names are for make_chosen_fields()
  /// Of samples whose bytes, or whose shards, are damaged.
  OnDamage on_damage = OnDamage::stop;
  /// Called while files are proved: may throw Code::interrupted.
  std::function<void()> stop_if_asked = [] {};
};

/// The samples of a dataset, of any format: the payload is read by the index, never through the
/// container's library. Nothing is handed out that is not proved, where the manifest has the
/// hashes: each index and block list before the first row of its shard, keys and values by the
/// crc32c in the index, and all samples by SourceInfo::digest. Fixed rows come in runs: where only
/// some fields are taken, it is the hashes of their files that prove them, before they are read.
/// They are put in another order here only one by one: RowTable is for that.
/// With OnDamage::leave_out every sample is given, and those that are damaged say so: rows by the
/// crc32c of their values, fixed rows by the blocks that they lie in, all samples of a shard where
/// a file of it is missing, or its index is damaged beside the shard itself. A list of samples that
/// were left out before, which is damaged, is left out with a note.
/// Errors: Code::usage for a field that the dataset does not have, or that is named twice;
/// Code::damaged for one of the files beside the shards, where that is not left out, and for an
/// index that is damaged beside a shard that is not: 'shale index' makes it again. Instead of
/// Code::damaged always the errors of refuse_replaced.
[[nodiscard]] std::unique_ptr<OrderableSource> make_dataset_source(
    OpenedDataset dataset, const DatasetSelection& selection);

/// Proves the files that hold these fields in a shard, by their hashes: for rows that are fixed,
/// and have no checksum of their own. `stop_if_asked` is called before each block. Errors: same as
/// prove_file.
void prove_files_of(const ShardReader& shard, const ShardLayout& layout,
                    std::span<const std::size_t> fields,
                    const std::function<void()>& stop_if_asked);

/// What is damaged may only be that another dataset, or file, has taken the place of the one that
/// was opened, or is taking it, or that it was removed. Errors: Code::mismatch if so; else nothing
/// is thrown.
void refuse_replaced(const OpenedDataset& dataset);

/// What the user is told of a file whose keys are decimal numbers in another order than theirs, as
/// LMDB sorts them; else empty. By the first keys. Errors: Code::damaged, Code::io.
[[nodiscard]] std::string note_on_order(const OpenedDataset& dataset);

}  // namespace shale
