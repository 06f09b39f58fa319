#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/format/source.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// What makes two conversions the same: every option that shapes the bytes, and the input. Name and
/// value, in a fixed order.
using Identity = std::vector<std::pair<std::string, std::string>>;

/// Of an append: the self-hash of the dataset that the shards come behind.
inline constexpr std::string_view kAppendedTo = "dataset that is appended to";
/// The option that has the hash of all labels.
inline constexpr std::string_view kLabelsOption = "labels";
/// The member of the line in the journal of a merge.
inline constexpr std::string_view kMergeMember = "merge";

/// The options that shaped the bytes, as the manifest records them.
[[nodiscard]] Identity shaping_options(const ConvertRequest& request, const SourceInfo& source);
[[nodiscard]] Identity identity_of(const Manifest& manifest);
/// The row group size that a dataset was written with; 0: the usual one. Errors: same as
/// parse_count.
[[nodiscard]] std::uint64_t row_group_bytes_of(const Manifest& manifest);

/// One line of text, for the journal, and back.
[[nodiscard]] std::string identity_line(const Identity& identity);
[[nodiscard]] Identity identity_from_line(std::string_view line);

/// "shard_size was 1073741824, is 1000000" for the first disagreement; nullopt if there is none.
[[nodiscard]] std::optional<std::string> first_difference(const Identity& was, const Identity& is);

}  // namespace shale
