#pragma once

#include <memory>
#include <string>

#include "shale/encoding/image_options.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// The same samples, on whose images the workers are to do what was requested
/// (SourceInfo::transform). `input`: for messages. Errors: same as resolve_transform.
[[nodiscard]] std::unique_ptr<Source> make_transformed_source(std::unique_ptr<Source> source,
                                                              const ImageRequest& request,
                                                              const std::string& input);

}  // namespace shale
