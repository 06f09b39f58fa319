#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shale/datasets/open_dataset.hpp"
#include "shale/io/walk.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"

// What a manifest says of the set and of whole files, held against the shards and the disk.

namespace shale {

/// Samples, bytes and digests of the shards add up to those of the set. The log then knows how many
/// bytes there are to read. Errors: same as read_shard_line.
void verify_totals(const OpenedDataset& dataset, VerifyDepth depth, VerifyLog& log);

/// Proves files as wholes: their size and, but at VerifyDepth::quick, their hash.
class FileChecks {
 public:
  /// All outlive it.
  FileChecks(const VerifyRequest& request, const OpenedDataset& dataset, VerifyLog& log)
      : request_(request), dataset_(dataset), log_(log) {}

  /// Lists beside the shards, and files that look like ours but are not in the manifest, which are
  /// findings only if the request is strict. There may be any number of those: the first by name
  /// are told, the others counted.
  void check_beside_shards();
  /// `file` is opened if it is not, and stays open. False if there was something to report.
  bool check(const std::string& folder, const ManifestFile& expected, const std::string& shard,
             std::optional<InputFile>& file);
  /// The files of a shard, where there is no better way to prove them.
  void check_all_of(const ManifestShard& shard);

 private:
  void check_whole(const std::string& folder, const ManifestFile& expected,
                   const std::string& shard);
  void count_lists();
  void count_rows(std::string_view list, std::string_view what, std::uint64_t found);
  void report_stray(const FolderEntry& entry, bool is_told);
  void check_hash(const InputFile& file, const ManifestFile& expected, Finding finding);

  const VerifyRequest& request_;
  const OpenedDataset& dataset_;
  VerifyLog& log_;
  std::set<std::string> damaged_;  // of the files beside the shards
};

/// Reads the block list of a shard into `check`, and proves it by the hashes of the shard's files.
void load_blocks(ShardCheck& check, const InputFile& list, VerifyLog& log);

}  // namespace shale
