#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/folders/sought_files.hpp"

namespace shale {

/// What to tell of class folders whose names say that they are none: splits, or images and their
/// annotations. They are read as classes, as torchvision reads them.
[[nodiscard]] std::vector<std::string> notes_on_classes(const std::vector<std::string>& classes);

/// The errors of a folder of splits, and of one whose files lie in no folder. `partial`: what some
/// of those files have partners of (FilePairs::partial).
[[nodiscard]] Error holds_splits(const std::string& root, const std::vector<std::string>& names,
                                 bool is_archive);
[[nodiscard]] Error no_classes(const SoughtFiles& sought, std::uint64_t loose_files,
                               const std::string& root, const std::string& partial);

/// What the user is told of files beside the class folders, and of links that lead back.
[[nodiscard]] std::string note_on_loose_files(const SoughtFiles& sought, std::uint64_t count);
[[nodiscard]] std::string note_on_cut_loops(std::uint64_t count);

/// What the user is told of rows of labels without file; `one` is the word for a file.
[[nodiscard]] std::string note_on_unmatched(std::uint64_t rows, const std::string& labels_file,
                                            std::string_view one, bool has_other_classes);

}  // namespace shale
