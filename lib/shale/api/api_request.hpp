#pragma once

#include "shale/output.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// Who wrote a manifest, as it says it.
inline constexpr const char* kLibraryGenerator = "shale " SHALE_VERSION;

/// The threads and the memory that a job gets. Errors: Code::usage for more threads, or less
/// memory, than there may be.
[[nodiscard]] Resources granted(const Resources& resources);

/// A request for this output, and nothing else yet. Errors: same as choose_output and granted.
[[nodiscard]] ConvertRequest request_to_write(const Destination& to, bool is_append,
                                              const Resources& resources);

[[nodiscard]] WrittenSet written_set(const ConvertReport& report);

}  // namespace shale
