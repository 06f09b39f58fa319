#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/ops/repair_request.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {

/// What of a dataset is damaged: shards by their numbers, ascending, and lists beside the shards.
struct DamagedParts {
  std::vector<std::uint64_t> shards;
  std::vector<std::string> lists;

  [[nodiscard]] bool is_empty() const { return shards.empty() && lists.empty(); }
};

/// Why the source alone does not make the shards of a run again: "was written by a program";
/// nullopt: it does.
[[nodiscard]] std::optional<std::string> why_only_a_copy(const Manifest& run);

/// Takes what was rebuilt; its files are in the work folder, and are removed when the call returns.
struct RemadeSink {
  std::function<void(std::uint64_t number, const ManifestShard& shard)> shard;
  std::function<void(const ManifestFile& list)> list;
};

/// Makes parts of a dataset once more, from what it was made from, into work.path(). Of shards
/// alone, only those are encoded, one after the other: samples before, between and after them are
/// passed over without being read. Lists of samples take a whole run, whose other shards are
/// dropped. A dataset that was appended to has several sources: what the runs wrote that had this
/// one is made again, and nothing else. Errors: same as repair.
void make_again(const RepairRequest& request, const ShardList& shards, const DamagedParts& damaged,
                WorkFolder& work, const Events& events, const RemadeSink& sink);
/// Refuses a source that make_again() would refuse before it reads a sample.
void refuse_other_source(const RepairRequest& request, const ShardList& shards,
                         const DamagedParts& damaged, const std::string& scratch_folder,
                         const Events& events);

}  // namespace shale
