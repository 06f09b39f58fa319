#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/base/decoder.hpp"
#include "shale/format/format.hpp"

#include "formats/record/record_described.hpp"

namespace shale {

/// Walks the frames of a shard; one row a frame, also for a frame that is damaged inside (what
/// cannot be read is missing in its row), so that rows keep their numbers. Ends at a frame whose
/// length cannot be trusted. Memory: a window of 256 KiB, whatever the records are. Findings:
/// features that are missing, unknown, repeated, out of order, of another type, size, dtype or
/// shape; payload checksums (only with reads_payload); frames that do not end. Errors: Code::io.
void scan_record_shard(const ShardInput& input, const OptionSet& options, const RowSink& rows,
                       const FindingSink& findings);

/// The rows of a file that survey_record_file described: with layout.has_whole_records of Examples,
/// without of records that are one field each. Of features of one name the last counts, as protobuf
/// has it; features that the schema does not have are stepped over; one that is absent is missing
/// in its row. A frame that is damaged inside has a row all the same. Memory: as scan_record_shard.
/// Findings: frames that do not end, payload checksums (only with reads_payload), records that
/// are not an Example, features that differ from the schema. Errors: Code::io.
void scan_foreign_record(const ShardInput& input, const RowSink& rows, const FindingSink& findings);

/// What a TFRecord file of another tool holds, from all of its records. If each is a
/// tf.train.Example with a feature at least, features become fields, sorted by name (FORMAT.md,
/// "files of other tools"); else each is one field of bytes, "value". Reads tags, lengths, numbers
/// and strings that may be text; steps over all else. A frame whose length cannot be trusted ends
/// it: the scan will say so. Memory: a window of 32 KiB, and 1024 features. Errors:
/// Code::unsupported, by name, for compressed files, features whose names would be one, more than
/// 1024 features, and where no feature can be located; Code::schema for a feature's name;
/// Code::damaged if no record can be read; Code::io.
[[nodiscard]] Survey survey_record_file(const InputFile& file, const Parsing& parsing,
                                        const WalkProgress& progress = {});

/// The same of what is whole of a damaged file: see Format::salvage.
[[nodiscard]] Survey salvage_record_file(const InputFile& file, const Parsing& parsing,
                                         const WalkProgress& progress);

/// The same for a file that unpack_record_file writes of this one: what features it writes again,
/// how many records there are, and how large it is at most, besides the records as they are.
/// `arrays`: fields whose integers are arrays even where each record has one; `described`: what
/// files beside say of its features; `lost`: what of the file is passed over.
struct UnpackedSurvey {
  Survey survey;
  std::vector<std::string> features;
  std::vector<std::string> floats;  ///< those of them that are lists of floats
  std::uint64_t records = 0, most_bytes = 0;
};
[[nodiscard]] UnpackedSurvey survey_unpacked_record_file(const InputFile& file,
                                                         DescribedFeatures described,
                                                         const std::vector<std::string>& arrays,
                                                         const LostRanges& lost);

/// How a file is compressed as a whole, by its first bytes.
[[nodiscard]] Packing packing_of_frames(const InputFile& file);

/// Decompresses a file, and writes the numbers that do not lie in a file of another tool as arrays
/// (lists of integers, which are varints, and floats that are not packed) as such: see
/// Format::unpack. If fields are named, their arrays are all that it writes, a record for each, and
/// nothing else of the file. Memory: a record's numbers. Errors: those of survey_record_file;
/// Code::damaged for any damage.
[[nodiscard]] std::optional<UnpackReport> unpack_record_file(const UnpackRequest& request);

/// The same of a shard of shale's own for several threads: see Format::split_scan.
[[nodiscard]] SplitScan split_record_scan(const ShardInput& input);

/// Where the elements of a list lie. Errors: Code::damaged if they do not end where the list does,
/// or are not as many as it says.
[[nodiscard]] std::vector<FieldPlace> walk_record_list(const ViewBytes& view,
                                                       const FieldPlace& list);

/// The elements of a list's extent: (0x0a, length, bytes) each.
/// Errors: Code::damaged if the extent is anything else, or does not hold exactly `count`.
[[nodiscard]] std::vector<Bytes> split_record_list(Bytes extent, std::uint32_t count);

}  // namespace shale
