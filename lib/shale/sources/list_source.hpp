#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/format/source.hpp"
#include "shale/sources/sample_choice.hpp"
#include "shale/sources/stdin_copy.hpp"

namespace shale {

/// The kind of input, as manifests name it.
inline constexpr std::string_view kFileList = "file list";

struct ListRequest {
  std::string path;                           ///< of the list
  std::string name;                           ///< of the list, for messages
  std::string classes_from;                   ///< as FolderRequest::classes_from
  std::vector<std::string> class_names = {};  ///< as FolderRequest::class_names
  std::string class_names_from = {};
  bool extends_set = false;  ///< as FolderRequest::extends_set
  bool adds_classes = false;
  bool may_mix_labels = false;  ///< as FolderRequest::may_mix_labels
  std::string suffixes = {};    ///< of the files that are samples: "mp4,wav"; empty: all are images
  bool allow_empty = false;
  bool is_shuffled = false;
  std::uint64_t seed = 0;
  std::string scratch_folder;
  std::uint64_t memory_bytes = 32 << 20;       ///< for the list
  std::uint64_t all_memory_bytes = 256 << 20;  ///< of the run: the names of classes go by it
  std::function<void()> stop_if_asked = [] {};
  std::shared_ptr<ChosenRows> chosen = nullptr;  ///< the lines that are taken; null: all
  /// A file without label, where others have one, is an error; else a sample that lacks it.
  bool refuses_incomplete = false;
};

/// Keeps stdin, as it was opened, for open_list, if it begins like a text. False: it may be an
/// archive, and only its beginning was peeked. Errors: same as StdinCopy::keep.
[[nodiscard]] bool keep_if_list(StdinCopy& copy, InputStream& input);

/// The files of a list (sources/listed_files) as samples, in its order: schema (image: bytes,
/// label: integer), without the label if no line has one; keys are the paths of the list. Integers
/// are labels as they are; names are those of a class table, made of them or given. The list is
/// read to its end at once, and each file's size is looked up. Errors: those of read_listed_files;
/// Code::not_found for a file that is not there; Code::bad_content, with its line, for a path that
/// comes twice, one that is not a regular file, an unknown class, and an empty list.
[[nodiscard]] std::unique_ptr<Source> open_list(const ListRequest& request);

}  // namespace shale
