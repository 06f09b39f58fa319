#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shale/base/error.hpp"

namespace shale {

/// One fault of a dataset. Findings are collected, errors stop the work: see Error.
struct Finding {
  std::string message;                  ///< the fact, in words
  std::string file;                     ///< the file it is in, relative to the dataset
  std::optional<std::uint64_t> offset;  ///< byte in that file
  std::optional<std::uint64_t> length;  ///< the number of doubtful bytes from there on
  std::string shard;                    ///< "shard-000007", empty if it is not about one shard
  std::optional<std::uint64_t> row;     ///< 0-based row in that shard
  std::optional<SampleId> sample;
  std::string field;
  std::string expected, found;  ///< both sides of the disagreement, as text
};

/// "file: byte N: sample 'key': field 'f': message: found X, expected Y".
[[nodiscard]] std::string describe(const Finding& finding);

/// Takes findings as they are made. Called from one thread at a time.
using FindingSink = std::function<void(Finding)>;

}  // namespace shale
