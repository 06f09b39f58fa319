#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shale/encoding/image_options.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// What was requested of the images of a source: of those that it knows, of files beside them that
/// are masks by name and content, and of fields that the request names. Null: nothing. `input`: for
/// messages. Errors: same as resolve_transform.
[[nodiscard]] std::shared_ptr<const Transform> transform_for(const SourceInfo& info,
                                                             const ImageRequest& request,
                                                             const std::string& input,
                                                             std::vector<std::string>& notes);

/// The same samples, on whose images the workers are to do what was requested
/// (SourceInfo::transform). `input`: for messages. Errors: same as resolve_transform.
[[nodiscard]] std::unique_ptr<Source> make_transformed_source(std::unique_ptr<Source> source,
                                                              const ImageRequest& request,
                                                              const std::string& input);

}  // namespace shale
