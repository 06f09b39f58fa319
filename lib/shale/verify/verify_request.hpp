#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/folders/list_source.hpp"
#include "shale/shards/block_part.hpp"
#include "shale/sources/input_request.hpp"
#include "shale/verify.hpp"

namespace shale {

struct VerifyRequest {
  std::string dataset;
  VerifyDepth depth = VerifyDepth::full;
  /// The source that must hold the same samples: a folder, a dataset, or arrays ("name=file");
  /// empty: none.
  std::vector<std::string> against;
  LabelFile labels = {};               ///< of a flat folder to compare with
  JoinRequest join = {};               ///< of `against`, if that is a join
  RawNumbers raw = {};                 ///< of `against`: else as its manifest says
  std::string index_folder;            ///< of a file of another tool
  Parsing parsing = {};                ///< of such a file: else as its index says, or it looks
  std::optional<BlockPart> part = {};  ///< of the blocks: what VerifyDepth::quick does not read
  /// All findings are wanted, as far as memory holds them, not only the first in each place.
  bool lists_findings = false;
  bool is_strict = false;  ///< what lies beside a dataset without belonging to it is a finding
  /// Of `against`, if it is a list of files on stdin: what stdin held.
  std::shared_ptr<StdinCopy> stdin_copy = std::make_shared<StdinCopy>();
  std::string generator;
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 256 << 20;
};

}  // namespace shale
