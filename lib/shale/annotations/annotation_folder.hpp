#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/annotations/annotation_rows.hpp"

namespace shale {

/// A file of annotations in a folder of them.
struct AnnotationFile {
  std::uint64_t number = 0;  ///< in the order of the paths, from 1
  std::string path;          ///< with the folder in front
  std::string key;           ///< relative to the folder, without suffix
  std::string text;          ///< all of it
};

/// Whether a name ends so, in any case, with something in front.
[[nodiscard]] bool ends_like(std::string_view name, std::string_view suffix);

/// Reads each file below a folder whose name ends with `suffix`, in any case, in the order of their
/// paths. Memory: the budget of the request and a file, of at most 16 MiB. Errors: Code::limit for
/// a larger file; same as walk_folder.
void for_each_annotation_file(const AnnotationRequest& request, std::string_view suffix,
                              const std::function<void(const AnnotationFile&)>& use);

/// The tensor that a field of this name is in all forms.
[[nodiscard]] Field type_of_annotation(std::string_view field);

}  // namespace shale
