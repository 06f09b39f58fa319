#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/finding.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// A list of images of a dataset, and the folder of a video whose images they should be.
struct ComparedFrames {
  const InputFile& file;   ///< of the shard
  const FieldPlace& place; /**< of the list */
  const Format& format;
  std::vector<FieldPlace> elements;  ///< where they are, if the list alone does not say
  const std::string& folder;
  const ArchiveFile* archive = nullptr;          ///< that the frames lie in, if they do,
  std::span<const ArchivedFrame> archived = {};  ///< and where
  bool keeps_hidden = false;
  FrameOrder order = FrameOrder::natural;
  std::uint64_t memory_bytes;  ///< that the list may take
  /// Whether a frame is what its source should have become; null: the source itself.
  std::function<bool(Bytes source, Bytes frame)> is_made_of = {};
};

/// What differs first, with found and expected; file, shard, row and key are the caller's. Nullopt:
/// nothing. Errors: Code::damaged for a list that is malformed; Code::limit for one that is larger
/// than the memory; Code::not_found and Code::io of the folder.
[[nodiscard]] std::optional<Finding> compare_frames(const ComparedFrames& compared);

}  // namespace shale
