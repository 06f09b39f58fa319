#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "shale/folders/folder_request.hpp"
#include "shale/folders/stdin_copy.hpp"
#include "shale/labels/sample_choice.hpp"

namespace shale {

/// The kind of input, as manifests name it.
inline constexpr std::string_view kFileList = "file list";

/// Keeps stdin, as it was opened, for open_list, if it begins like text. False: it may be an
/// archive, and only its beginning was peeked. Errors: same as StdinCopy::keep.
[[nodiscard]] bool keep_if_list(StdinCopy& copy, InputStream& input);

/// The files of a list (folders/listed_files) as samples, in its order: schema (image: bytes,
/// label: integer), without the label if no line has one; keys are the paths of the list. Integers
/// are labels as they are; names are those of a class table, made of them or given. The list is
/// read to its end at once, and each file's size is looked up. Errors: those of read_listed_files;
/// Code::not_found for a file that is not there; Code::bad_content, with its line, for a path that
/// comes twice, one that is not a regular file, an unknown class, and an empty list.
/// `path`: where the list is; `request.root`: its name, for messages. Of the request what is said
/// of folders, pairs, listings and columns means nothing.
[[nodiscard]] std::unique_ptr<OrderableSource> open_list(const std::string& path,
                                                         const FolderRequest& request);

}  // namespace shale
