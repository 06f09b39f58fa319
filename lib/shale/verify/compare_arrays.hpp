#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/data/manifest.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// How arrays become rows: open_array_source, unless a test reads them wrongly on purpose.
using OpenArrays = std::function<std::unique_ptr<Source>(ArrayRequest, const Events&)>;

/// Compares a dataset with arrays: their number of rows, and the digest of all of them. The rows
/// are read as `convert` reads them, so agreeing digests alone would not show that both were read
/// wrongly: therefore some elements of each array (all of a small one) are read once more, each by
/// itself from the place that its header gives it (sampled_elements.hpp), and compared with the
/// rows. Errors: Code::usage for fields that differ; same as open_array_source and encode_all.
void compare_arrays(const Manifest& ours, const VerifyRequest& request, const ArrayColumns& arrays,
                    const FindingSink& sink, const Events& events, std::vector<std::string>& notes,
                    const OpenArrays& open = open_array_source);

}  // namespace shale
