#pragma once

#include <memory>
#include <string_view>

#include "shale/folders/folder_source.hpp"

namespace shale {

/// Kind of the input, as manifests name it.
inline constexpr std::string_view kVideoFrames = "video frames";

/// A folder ROOT/<Class>/<video>/*.jpg as one sample per video: schema (frames: list, label:
/// integer), key = the path of the video's folder relative to the root. Classes, labels and what
/// counts as an image are those of open_folder; videos come in its order, the frames of a video in
/// the order of their names that the request has. Errors: those of open_folder; Code::bad_content
/// for an image beside the folders of videos, and for the folder of a video without images;
/// Code::limit for more frames in one video than their list has memory for; Code::usage for labels
/// from a file.
[[nodiscard]] std::unique_ptr<OrderableSource> open_frames(const FolderRequest& request);

}  // namespace shale
