#pragma once

#include <string>
#include <string_view>

namespace shale {

/// The folder in the folder of a set of other tools' files that holds the index of the set.
inline constexpr std::string_view kSetIndexFolder = ".shale-index";

/// The command that makes the lists about a shard again, with the path that it takes: "shale index
/// out". `lists`: the folder that they lie in; `file`: one of the shard's own.
[[nodiscard]] std::string rebuild_command(const std::string& lists, const std::string& file);
/// The same as a hint.
[[nodiscard]] std::string rebuild_hint(const std::string& lists, const std::string& file);

}  // namespace shale
