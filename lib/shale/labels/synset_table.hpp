#pragma once

#include <string>
#include <vector>

namespace shale {

/// The synsets of ILSVRC's classes in the order of their numbers, that of number 1 first, by a list
/// of lines "n02119789 1 kit_fox". Errors: Code::bad_content for another line, for a number or a
/// name that comes twice, and for numbers that leave one out; Code::limit above 16 MiB.
[[nodiscard]] std::vector<std::string> synsets_of_map(const std::string& path);

/// The same by the meta.mat of the devkit: a MATLAB 5 file whose variable is an array of structs
/// with ILSVRC2012_ID (or ILSVRC2010_ID ...) and WNID; those with num_children above 0 are not
/// classes. Errors: Code::bad_content for another file, which a length that points past the end
/// makes it; Code::limit above 16 MiB, as it is and decompressed.
/// Source: MAT-File Format, MathWorks, "Level 5 MAT-File Format".
[[nodiscard]] std::vector<std::string> synsets_of_devkit(const std::string& path);

}  // namespace shale
