#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// The rows of a file that survey_record_file described: with layout.has_whole_records of Examples,
/// without of records that are one field each. Of features of one name the last counts, as protobuf
/// has it; features that the schema does not have are stepped over; one that is absent is missing
/// in its row. A frame that is damaged inside has a row all the same. Memory: as scan_record_shard.
/// Findings: frames that do not end, payload checksums (only with reads_payload), records that
/// are not an Example, features that differ from the schema. Errors: Code::io.
void scan_foreign_record(const ShardInput& input, const RowSink& rows, const FindingSink& findings);

}  // namespace shale
