#pragma once

#include "shale/output.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// Who wrote a manifest, as it says it.
inline constexpr const char* kLibraryGenerator = "shale " SHALE_VERSION;

/// The threads and the memory that a job gets. Errors: Code::usage for more threads, or less
/// memory, than there may be.
[[nodiscard]] Resources granted(const Resources& resources);

/// A request for this output, and nothing else yet; `asked`: what `to` does not say of it. Errors:
/// same as choose_output and granted; Code::usage for a `to.io` that there is not.
[[nodiscard]] ConvertRequest request_to_write(const Destination& to, OutputOptions asked,
                                              const Resources& resources);

/// "row" or "key", and "all" or "any"; empty: not asked for. Errors: Code::usage for other words.
[[nodiscard]] JoinRequest join_of(const std::string& on, const std::string& partners);

/// What files without a header hold; not given for an empty word. Errors: same as parse_raw, and
/// refuse_idle_offset.
[[nodiscard]] RawNumbers raw_of(const std::string& word, std::uint64_t offset);

[[nodiscard]] WrittenSet written_set(const ConvertReport& report);

}  // namespace shale
