#pragma once

#include "shale/data/manifest.hpp"
#include "shale/format/source.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// Compares what went into the image work of a dataset with a source, where the work cannot be done
/// again because the codec is another one, and samples have no keys to be found by. Errors: same as
/// encode_all; Code::unsupported for a stream.
void compare_what_went_in(const Manifest& ours, Source& source, const VerifyRequest& request,
                          VerifyLog& log);

}  // namespace shale
