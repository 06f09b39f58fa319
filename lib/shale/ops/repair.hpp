#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/ops/repair_request.hpp"

namespace shale {

/// A file of the dataset that is not as the manifest says.
struct RepairedFile {
  enum class Remedy { none, copied, made_again, rebuilt };
  ManifestFile file;
  std::optional<std::uint64_t> shard;  ///< nullopt: of no shard
  bool is_data = false;                ///< of a shard: neither its index nor its block list
  std::string fault;                   ///< "is missing"
  Remedy remedy = Remedy::none;
  std::string obstacle;  ///< why there was no remedy
};
[[nodiscard]] std::string_view name_of(RepairedFile::Remedy remedy);

/// What is damaged.
struct RepairPlan {
  std::uint64_t checked = 0;        ///< files of the dataset
  std::vector<RepairedFile> files;  ///< those that are damaged
  /// Names beside them that only shale gives, of what is not part of the dataset: the first 1000,
  /// which nothing is done about, and how many there are.
  std::vector<std::string> strays = {};
  std::uint64_t stray_count = 0;
};

/// And what was done about it.
struct RepairReport : RepairPlan {
  /// How many are still damaged.
  [[nodiscard]] std::uint64_t left() const;
};

/// Hashes every file of a finished dataset, and replaces those that are missing or damaged, each by
/// one rename, with what the manifest proves by its hash: a file of that name in a copy; else what
/// the index says of an intact shard; else, if `from` is what the dataset was made from, the shard,
/// encoded again. A manifest that is damaged or missing comes from a copy, if the copy's describes
/// at least one intact shard of the dataset. No other file is touched.
/// Memory: as convert. Errors: Code::not_found and Code::mismatch unless it is a finished dataset;
/// Code::mismatch for a source that the dataset was not made from; Code::unsupported, by name, for
/// a dataset that cannot be made again from its source; Code::damaged for a manifest that no copy
/// replaces; Code::exists if another command works on the dataset; Code::io; Code::interrupted.
[[nodiscard]] RepairReport repair(const RepairRequest& request, const Events& events);
/// Finds what is damaged, refuses what repair() would refuse before it reads a sample, and changes
/// nothing.
[[nodiscard]] RepairPlan plan(const RepairRequest& request, const Events& events);

}  // namespace shale
