#pragma once

#include <string>
#include <string_view>

#include "shale/data/image_report.hpp"

namespace shale {

/// The report of images as the member of a manifest: docs/manifest.md.
[[nodiscard]] std::string image_report_json(const ImageReport& report);
/// And back. `json` is well-formed, and nested as deep as a manifest may be. Errors:
/// Code::damaged.
[[nodiscard]] ImageReport parse_image_report(std::string_view json);

}  // namespace shale
