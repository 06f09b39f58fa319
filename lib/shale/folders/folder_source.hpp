#pragma once

#include <memory>

#include "shale/folders/folder_request.hpp"
#include "shale/labels/sample_choice.hpp"

namespace shale {

/// A folder of images, or of files with the given suffixes, as samples: schema (image: bytes,
/// label: integer), where SoughtFiles names the first field; key = the path relative to the root.
/// With class folders: exactly torchvision.datasets.ImageFolder.samples, in its order, with its
/// labels. Classes are the folder names sorted bytewise; within a class folders come bytewise by
/// path, then files bytewise by name; nested folders and links are followed (loops are cut). With a
/// labels file: all images below the root in that same order. Files that belong to an image
/// (partners/file_pairs) are further fields behind the label; a flat
/// folder that has them needs no labels, and has no field for them. Errors: Code::not_found,
/// Code::io; Code::bad_content for an empty folder, an empty or hidden class, a folder of splits,
/// an unknown class, a file without label or a label without file, each by name and with what to
/// do. Source: torchvision/datasets/folder.py (0.15 to 0.29), make_dataset and find_classes.
[[nodiscard]] std::unique_ptr<OrderableSource> open_folder(const FolderRequest& request);

}  // namespace shale
