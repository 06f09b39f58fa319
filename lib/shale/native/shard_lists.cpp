#include "shale/native/shard_lists.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

// The part of Energon's split that a tar is of, as its name says, or that of the outermost folder
// with such a name: "val-000.tar", "val/000.tar".
std::string_view part_of(std::string_view name) {
  for (std::string_view left = name; !left.empty();) {
    const std::string_view one = left.substr(0, left.find('/'));
    left.remove_prefix(std::min(one.size() + 1, left.size()));
    for (const std::string_view split : kSplitNames) {
      if (!one.starts_with(split)) continue;
      const std::string_view rest = one.substr(split.size());
      if (!rest.empty() && std::isalpha(static_cast<unsigned char>(rest.front())) != 0) continue;
      return split == "train" || split == "test" ? split : "val";
    }
  }
  return "train";
}

std::string wids_list(std::span<const ShardCount> shards) {
  std::vector<ShardCount> sorted(shards.begin(), shards.end());
  std::ranges::sort(sorted, {}, &ShardCount::name);
  std::string text =
      "{\n  \"__kind__\": \"wids-shard-index-v1\",\n  \"wids_version\": 1,\n  \"shardlist\": [";
  std::string_view gap;
  for (const ShardCount& shard : sorted) {
    text += fmt::format(
        "{}\n    {{\n      \"url\": \"{}\",\n      \"md5sum\": \"{}\",\n      \"nsamples\": {},\n"
        "      \"filesize\": {}\n    }}",
        gap, shard.name, shard.md5, shard.samples, shard.bytes);
    gap = ",";
  }
  return text + "\n  ]\n}\n";
}

std::string energon_info(std::span<const ShardCount> shards) {
  std::string text = "{\n  \"shard_counts\": {";
  std::string_view gap;
  for (const ShardCount& shard : shards) {
    text += fmt::format("{}\n    \"{}\": {}", gap, shard.name, shard.samples);
    gap = ",";
  }
  return text + "\n  }\n}\n";
}

std::string energon_split(std::span<const ShardCount> shards) {
  std::map<std::string_view, std::string> parts = {{"train", ""}, {"val", ""}, {"test", ""}};
  for (const ShardCount& shard : shards)
    parts[part_of(shard.name)] += fmt::format("  - \"{}\"\n", shard.name);
  std::string text = "split_parts:\n";
  for (const std::string_view part : {"train", "val", "test"})
    text += parts[part].empty() ? fmt::format("  {}: []\n", part)
                                : fmt::format("  {}:\n{}", part, parts[part]);
  return text + "exclude: []\n";
}

}  // namespace

void refuse_shard_name(NativeKind kind, std::string_view name, const std::string& path) {
  if (kind == NativeKind::dali) return;
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._-+=@~/").find(c) != std::string_view::npos;
  };
  if (std::ranges::all_of(name, is_plain)) return;
  throw Error(Code::unsupported,
              "has a name that {} reads as something else: it takes ASCII letters, digits and any "
              "of ._-+=@~",
              name_of(kind))
      .at(path)
      .hint("rename the tar");
}

std::vector<ListOfShards> lists_of(NativeKind kind, std::span<const ShardCount> shards) {
  switch (kind) {
    case NativeKind::dali:
      return {};
    case NativeKind::wids:
      return {{std::string(kWidsName), wids_list(shards)}};
    case NativeKind::energon:
      break;
  }
  const std::string folder = std::string(kEnergonFolder) + "/";
  return {{folder + ".info.json", energon_info(shards)},
          {folder + "split.yaml", energon_split(shards)},
          // Samples as they are, for the cooker of a task encoder.
          {folder + "dataset.yaml", "__module__: megatron.energon\n__class__: CrudeWebdataset\n",
           true}};
}

}  // namespace shale
