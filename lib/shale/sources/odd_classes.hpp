#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// What to tell of class folders whose names say that they are none: splits, or images and their
/// annotations. They are read as classes, as torchvision reads them.
[[nodiscard]] std::vector<std::string> notes_on_classes(const std::vector<std::string>& classes);

}  // namespace shale
