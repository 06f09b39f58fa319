#include "shale/verify/shard_verifier.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {

ShardVerifier::ShardVerifier(const VerifyRequest& request, const OpenedDataset& dataset,
                             VerifyLog& log, unsigned workers)
    : request_(request),
      dataset_(dataset),
      format_(format_of(dataset.manifest)),
      log_(log),
      files_(request, dataset, log),
      tasks_(request, format_, log, workers) {}

std::shared_ptr<ShardCheck> ShardVerifier::open(const ManifestShard& shard,
                                                std::uint64_t first_sample,
                                                ShardFiles opened) const {
  const Manifest& manifest = dataset_.manifest;
  auto check = std::make_shared<ShardCheck>(
      manifest, first_sample, ShardReader(dataset_.paths, manifest, shard, true, std::move(opened)),
      tasks_.is_over());
  // Half of the memory for findings, if all are wanted: those of the tasks in flight.
  constexpr std::uint64_t kBytesOfFinding = 512;
  if (request_.lists_findings) {
    const std::uint64_t tasks = 2 * std::uint64_t{std::max(1U, request_.jobs)};
    check->kept_findings =
        std::max(kFirstFindings, request_.memory_bytes / 2 / kBytesOfFinding / tasks);
  }
  check->has_ordered_places = format_.can.places_ascend &&
                              manifest.layout.dialect == Dialect::own &&
                              manifest.layout.rows.has_index();
  (void)check->reader.open_index();
  return check;
}

std::shared_ptr<ShardCheck> ShardVerifier::verify(const ManifestShard& shard,
                                                  std::uint64_t first_sample, ShardFiles opened,
                                                  BlockRange blocks_to_read) {
  const std::uint64_t findings_before = log_.findings();
  const auto check_list = [&](const ManifestFile& list, std::optional<InputFile>& file) {
    return !list.name.empty() && files_.check(dataset_.paths.lists, list, shard.name, file);
  };
  (void)check_list(shard.index, opened.index);
  (void)check_list(shard.elements, opened.elements);
  std::optional<InputFile> values;
  (void)check_list(shard.values, values);
  const bool has_blocks = check_list(shard.blocks, opened.blocks);
  const std::optional<InputFile> blocks = std::exchange(opened.blocks, std::nullopt);
  std::shared_ptr<ShardCheck> check;
  try {
    check = open(shard, first_sample, std::move(opened));
  } catch (const Error& error) {
    // Without an index that fits, the files of the shard can still be proved, each as a whole.
    files_.check_all_of(shard);
    if (log_.findings() == findings_before) log_.add_damage(error, shard.name);
    return nullptr;
  }
  if (has_blocks) load_blocks(*check, *blocks, log_);
  // Without a list to tell blocks apart by, each file is proved as a whole.
  if (check->blocks.empty() && dataset_.manifest.layout.has_checksums) files_.check_all_of(shard);
  if (request_.depth == VerifyDepth::quick) {
    if (blocks_to_read.first < blocks_to_read.last && !check->blocks.empty())
      tasks_.prove_blocks(check, blocks_to_read);
    return check;
  }
  tasks_.prove_bytes(check);
  check->is_damaged = log_.findings() > findings_before;
  return check;
}

}  // namespace shale
