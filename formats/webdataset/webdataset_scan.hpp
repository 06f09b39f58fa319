#pragma once

#include <vector>

#include "shale/format/format.hpp"

namespace shale {

/// Walks the members of a shard that shale wrote. Ends at a header that is not as shale writes it,
/// since its size may be anything; a sample whose values are wrong has a row all the same. Memory:
/// a window of 256 KiB, and the headers of a sample. Findings: headers, padding and the end of the
/// archive; names that do not fit the key; fields that are missing, unknown, repeated or out of
/// order; numbers and .npy headers that are not as shale writes them; with reads_payload also
/// extensions that do not fit the content. Errors: Code::io.
void scan_webdataset_shard(const ShardInput& input, const OptionSet& options, const RowSink& rows,
                           const FindingSink& findings);

/// The same for several threads: see Format::split_scan.
[[nodiscard]] SplitScan split_webdataset_scan(const ShardInput& input);

/// Where the elements of a list lie, whose extent is members one after the other. Errors:
/// Code::damaged if they are not, or not as many as it says.
[[nodiscard]] std::vector<FieldPlace> walk_webdataset_list(const ViewBytes& view,
                                                           const FieldPlace& list);
[[nodiscard]] std::vector<Bytes> split_webdataset_list(Bytes extent, std::uint32_t count);

}  // namespace shale
