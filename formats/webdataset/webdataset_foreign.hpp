#pragma once

#include <optional>

#include "shale/format/format.hpp"

#include "formats/webdataset/webdataset_walk.hpp"

// Archives of other tools.

namespace shale {

/// How sure it is that a tar archive holds samples of webdataset: two members beside each other
/// with one key and different extensions, among the first 256, and a class (`.cls`) among these or
/// no folder. Else it is an archive of a folder. Reads headers only. Errors: Code::io.
[[nodiscard]] int bid_for_samples_in_tar(const Probe& probe);

/// True for what shale wrote: the header of a file that has a key where links have their target, or
/// a record of it. Of an archive without samples, nothing is evidence.
[[nodiscard]] bool is_own_webdataset(const ViewBytes& view, std::uint64_t archive_bytes);

/// The same of an archive that is compressed with gzip or zstd as a whole, by its first 4 MiB.
[[nodiscard]] int bid_for_compressed_samples(const Probe& probe);
/// Errors: Code::unsupported for such an archive.
void refuse_compressed_tar(const InputFile& file);
/// Decompresses one: see Format::unpack.
[[nodiscard]] std::optional<UnpackReport> unpack_webdataset(const UnpackRequest& request);

/// The fields of all samples, from the headers of all members; of their data only short texts,
/// numbers, JSON and what precedes arrays is read. Memory: a window of 256 KiB, 1024 extensions,
/// and at most 32 MiB for the hashes of keys. Errors: Code::unsupported, by name, for sparse files,
/// for archives that were joined, and for more than 1024 extensions; Code::damaged if no sample can
/// be read; Code::io.
[[nodiscard]] Survey survey_webdataset(const InputFile& file, const Parsing& parsing,
                                       const WalkProgress& progress);

/// Format::tell_names.
[[nodiscard]] std::string names_in_webdataset(const InputFile& file, const Schema& schema);

/// The same of what is whole of a damaged archive: see Format::salvage.
[[nodiscard]] Survey salvage_webdataset(const InputFile& file, const Parsing& parsing,
                                        const WalkProgress& progress);

/// The rows of an archive that survey_webdataset described. Of members of one extension in one
/// sample the last counts, as tar has it. Memory: a window of 256 KiB. Findings: an archive that is
/// damaged or truncated, values that are not of their field. Errors: Code::io.
void scan_foreign_webdataset(const ShardInput& input, const RowSink& rows,
                             const FindingSink& findings);

/// What is lost of a damaged archive. A sample beside the damage counts if its members have the
/// extensions of the sample before. Errors: Code::io.
[[nodiscard]] LostRanges find_lost_members(const InputFile& file, const WalkProgress& progress);

/// Where the array of an .npy file lies, little-endian and in C order. `view` is of the archive.
/// Errors: Code::damaged, Code::unsupported, Code::limit for what is not such a file.
struct ArrayInMember {
  DType dtype;
  std::vector<std::uint64_t> shape;
  FieldPlace place;
};
[[nodiscard]] ArrayInMember array_in(SampleWalk& walk, const FieldPlace& member,
                                     const std::string& where);

}  // namespace shale
