#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/folders/list_source.hpp"
#include "shale/io/output_file.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/labels/split_request.hpp"
#include "shale/sources/input_request.hpp"

namespace shale {

/// A repair as requested.
struct RepairRequest {
  std::string dataset;
  std::string from;  ///< a copy of the dataset, or of some of its files; or its source
  /// Where the source is inputs that are joined ("image=photos"): those behind the first.
  std::vector<std::string> more_from = {};
  JoinRequest join = {};     ///< how they were joined
  LabelFile labels = {};     ///< of a source that is a flat folder
  SampleChoice choice = {};  ///< of a source that not all samples were taken of
  SplitRequest split = {};   ///< of a source that was divided: the dataset is one of its parts
  std::optional<std::uint64_t> split_seed = {};  ///< nullopt: that of the dataset's shuffle, or 0
  /// Of `from`, if it is a list of files on stdin: what stdin held.
  std::shared_ptr<StdinCopy> stdin_copy = std::make_shared<StdinCopy>();
  std::string generator;
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 256 << 20;
  IoMode io = IoMode::automatic;
};

}  // namespace shale
