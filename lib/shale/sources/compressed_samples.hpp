#pragma once

#include <string>

namespace shale {

/// Whether a path is a compressed tar archive of samples, or stands for several (files_of_set): so
/// far as the first of them tells.
[[nodiscard]] bool are_compressed_samples(const std::string& path);

}  // namespace shale
