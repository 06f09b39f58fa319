#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/layouts/first_values.hpp"

// What is said of a file that has no known layout, but seems to have one.

namespace shale::layouts {

/// The keys of meta_keys() that the file has; nullopt for a file that is damaged on the way to
/// them. Errors: Code::io.
[[nodiscard]] std::optional<std::vector<std::string_view>> meta_keys_in(const MapOpener& open);

/// A sentence on why a layout is not that of the file.
[[nodiscard]] std::string note_of(const Error& error);
/// Of layouts that share the entries which describe the file, the one that got furthest.
[[nodiscard]] std::vector<std::string> notes_of(const std::vector<Error>& near_misses);
/// Of a file that is described in some other way: a layout has exactly its own entries.
[[nodiscard]] std::string note_of_unknown(const std::vector<std::string_view>& keys);

}  // namespace shale::layouts
