#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/callbacks.hpp"
#include "shale/output.hpp"

namespace shale {

/// How much of a dataset is verified. Each depth includes the one before.
enum class VerifyDepth {
  quick,  ///< manifest and its self-hash, sizes of all files, shape of indexes and block lists
  full,  ///< every block of every file, every field's crc32c, the container's structure against the
         ///< index (where rows are fixed there is neither crc32c nor index)
  deep,  ///< digests recomputed, the container's own checksums, images decoded; a reading by the
         ///< container's own library, if it has one
};

struct VerifyOptions {
  std::string dataset;  ///< a dataset of shale's, or a file of another tool
  VerifyDepth depth = VerifyDepth::full;
  /// The source that must hold the same samples: a folder, a dataset, arrays ("name=file"); empty:
  /// none.
  std::vector<std::string> against = {};
  std::string labels = {};  ///< of `against`, a flat folder: the file with its labels
  std::string label_column = {}, key_column = {};  ///< of `labels`
  std::string label_separator = {};                ///< of several labels in a cell of `labels`
  std::string strip_prefix = {};       ///< what paths in `labels` begin with, and files do not
  std::string label_from = {};         ///< of `against`: the class is in the name of each file
  std::string raw = {};                ///< "uint16,400": `against` is numbers without a header
  std::uint64_t raw_offset = 0;        ///< with `raw`, bytes before the first row of each file
  std::string index_folder = {};       ///< of a file of another tool
  std::string parse = {};              ///< of such a file, as ConvertOptions has it; empty: auto
  std::string database = {};           ///< of such a file: named databases of LMDB
  std::string on = {}, partners = {};  ///< of `against`, inputs with names that are joined
  /// Verify this part of the blocks, and of the rest what VerifyDepth::quick does: "3/20" is part 3
  /// of 20; "5%" or "10GiB", of which each day reads another part. Empty: all. Goes with
  /// VerifyDepth::full, and without `against`.
  std::string sample = {};
  /// What lies beside a dataset under names that only shale gives, without belonging to it, is a
  /// finding.
  bool is_strict = false;
  Resources resources = {};
};

/// What the container's own library said of the shards that shale found whole.
struct SecondOpinion {
  std::string library;  ///< with its version: "liblmdb 0.9.24"; empty: none was asked
  std::uint64_t shards = 0, samples = 0;  ///< that it read to their end, whatever it found
  std::uint64_t findings = 0;             ///< of VerifyReport::findings: where it disagrees
};

/// What a comparison says of a dataset and a source. With those before `damaged` all is well.
enum class SourceVerdict {
  none,             ///< nothing was compared, or not to the end
  same,             ///< the same samples
  other_order,      ///< the same samples in another order
  other_fields,     ///< the same samples in the fields that both have; or fields in another order
  source_has_more,  ///< all samples of the dataset, which was made of some, and others
  one_of_several,   ///< the samples of one run or more of a dataset that was appended to
  damaged,          ///< the dataset is not as it was written
  incomplete,       ///< samples of the source are missing in the dataset; its own are the same
  other_keys,       ///< the same samples under other keys
  different,        ///< some samples are the same
  another_source,   ///< no sample is
};
/// "same", "other_order" ...
[[nodiscard]] std::string_view name_of(SourceVerdict verdict);

/// A dataset beside a source, by the samples that were compared.
struct SourceComparison {
  SourceVerdict verdict = SourceVerdict::none;
  std::uint64_t same = 0, different = 0;                ///< of those that both have
  std::uint64_t not_in_source = 0, not_in_dataset = 0;  ///< others
  std::uint64_t skipped = 0;                            ///< of the source, by the dataset's lists
  std::uint64_t findings = 0;                           ///< of VerifyReport::findings
  std::string sentence;  ///< "the source holds the same samples"; empty: none
};

/// The part of a dataset whose blocks were read.
struct VerifiedPart {
  std::uint64_t number = 0, count = 0;     ///< part `number`, from 0, of `count`; 0: all was read
  std::uint64_t bytes = 0, all_bytes = 0;  ///< in its blocks, in all blocks
};

struct VerifyReport {
  std::uint64_t shards = 0, samples = 0, bytes = 0;  ///< looked at
  std::uint64_t findings = 0;
  /// Of the findings: images that do not decode, and are exactly as they were written. The set is a
  /// faithful copy of what it was made of, which was bad.
  std::uint64_t bad_when_written = 0;
  std::uint64_t undecoded = 0;          ///< images of types that shale has no decoder for
  std::vector<Finding> first_findings;  ///< at most 1000
  std::vector<std::string> notes;       ///< what could not be verified, a sentence each
  bool proves_payload = true;           ///< false: there were no checksums to prove it by
  /// The container's own checksums of every file of another tool were compared instead.
  bool proves_container = false;
  std::vector<std::string> strays;  ///< at most 1000 names of files that do not belong to it
  std::uint64_t stray_count = 0;    ///< how many there are
  SourceComparison comparison;      ///< with VerifyOptions::against
  bool is_compared = true;          ///< false: damage ended the comparison with the source
  bool has_images = false;          ///< there are images, which VerifyDepth::deep decodes
  SecondOpinion second_opinion;     ///< VerifyDepth::deep only
  VerifiedPart part;                ///< with VerifyOptions::sample
};

/// Verifies a dataset, and reports exactly what is damaged. Damage is a finding and never ends the
/// work. Findings go to `sink`, which may be null, as they are made: shard by shard, the same
/// whatever the number of jobs; where there are thousands in one place only the first of them do,
/// and the report has the number of all. A stop is heard within a fraction of a second.
/// Errors: Code::not_found; Code::mismatch for a directory without manifest (unfinished);
/// Code::interrupted; Code::limit for a sample that the memory cannot hold; Code::io; of `against`
/// also Code::usage and Code::bad_content.
[[nodiscard]] VerifyReport verify(const VerifyOptions& options, const FindingSink& sink = {},
                                  const Callbacks& callbacks = {});

}  // namespace shale
