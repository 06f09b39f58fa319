#pragma once

#include <memory>
#include <span>

#include "shale/format/format.hpp"

namespace shale {

/// The key, then the fields, a part each; an integer or real as an element of its column; then what
/// is next to the fields (see Hdf5Column), and IndexRow::elements has the places of elements.
/// Row places count from where the value begins. Where rows are fixed the fields alone, and no row.
/// Payload is borrowed. Errors: naming the sample, Code::limit for a key longer than 64 KiB or a
/// list of more than kMaxElements elements, and Code::schema for a number that its dtype does not
/// hold.
[[nodiscard]] Record encode_hdf5(const Sample& sample, const Schema& schema,
                                 const OptionSet& options);

/// Exact: the sizes that the writer's files have.
[[nodiscard]] std::unique_ptr<ShardSizer> create_hdf5_sizer(const Schema& schema,
                                                            const OptionSet& options);

/// Streams what is likely the largest column (Hdf5Plan::streamed) into the file, keeps the others
/// in a scratch file beside it, and writes the metadata at the end into the space left at the
/// front. Calls no library: the bytes do not depend on which one is installed. Memory: see
/// ColumnSpill.
[[nodiscard]] std::unique_ptr<ShardWriter> create_hdf5_shard(std::span<OutputFile> files,
                                                             const Schema& schema,
                                                             const OptionSet& options);

}  // namespace shale
