#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/native/tar_indexes.hpp"

// The files about all tars of a folder. Their programs parse names as parts of URLs and patterns.

namespace shale {

inline constexpr std::string_view kWidsName = "wids.json", kEnergonFolder = ".nv-meta";

struct ShardCount {
  std::string name;
  std::uint64_t samples = 0, bytes = 0;
  std::string md5;
};

struct ListOfShards {
  std::string name;  ///< in the folder of the tars
  std::string content;
  bool is_for_users = false;  ///< they edit it: one that is there stays
};

/// Errors: Code::unsupported for the name of a tar that its program would read as something else.
void refuse_shard_name(NativeKind kind, std::string_view name, const std::string& path);

/// What a program needs beside the indexes of the tars: none for DALI.
[[nodiscard]] std::vector<ListOfShards> lists_of(NativeKind kind,
                                                 std::span<const ShardCount> shards);

}  // namespace shale
