#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace shale {

/// The order in which people count: a run of digits is a number, so that "frame_2" comes before
/// "frame_10". Names that differ only in zeros before a number are in bytewise order.
[[nodiscard]] bool is_naturally_less(std::string_view a, std::string_view b);

/// The last run of digits of a file's name, its suffix left out, as a number: 10 of "frame_10.jpg".
/// Nullopt without digits, or with more than 18.
[[nodiscard]] std::optional<std::uint64_t> number_in_name(std::string_view name);

/// The number that a name is: 17 of "17" and "017". Nullopt for any other name, and for one of more
/// than 18 digits.
[[nodiscard]] std::optional<std::uint64_t> number_of_name(std::string_view name);

}  // namespace shale
