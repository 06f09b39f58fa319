#pragma once

#include <vector>

#include "shale/format/format.hpp"

namespace shale {

/// Walks the frames of a shard; one row a frame, also for a frame that is damaged inside (what
/// cannot be read is missing in its row), so that rows keep their numbers. Ends at a frame whose
/// length cannot be trusted. Memory: a window of 256 KiB, whatever the records are. Findings:
/// features that are missing, unknown, repeated, out of order, of another type, size, dtype or
/// shape; payload checksums (only with reads_payload); frames that do not end. Errors: Code::io.
void scan_record_shard(const ShardInput& input, const OptionSet& options, const RowSink& rows,
                       const FindingSink& findings);

/// The same of a part of a shard of shale's own.
[[nodiscard]] ScannedPart scan_record_part(const ShardInput& input, const ScanPart& part,
                                           const RowSink& rows, const FindingSink& findings);

/// Where the elements of a list lie. Errors: Code::damaged if they do not end where the list does,
/// or are not as many as it says.
[[nodiscard]] std::vector<FieldPlace> walk_record_list(const ViewBytes& view,
                                                       const FieldPlace& list);

/// The elements of a list's extent: (0x0a, length, bytes) each.
/// Errors: Code::damaged if the extent is anything else, or does not hold exactly `count`.
[[nodiscard]] std::vector<Bytes> split_record_list(Bytes extent, std::uint32_t count);

}  // namespace shale
