#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shale/report/field_roles.hpp"

namespace shale {

/// What a contact sheet shows of a row, and the damage that was met.
struct ShownSample {
  ReportSample sample;
  std::vector<Finding> damage;
};
/// Thread-safe. Memory: from the budgets of the set. Errors: same as finding_of_damage.
[[nodiscard]] ShownSample show_sample(const ReportedSet& set, const std::vector<FieldUse>& uses,
                                      std::uint64_t row);

/// A value in words, shortened: "float32 (10,): 0.5, 1, ...", the beginning of a string.
[[nodiscard]] std::string value_text(const Field& field, NumberKind kind, Bytes value);
/// The first characters of a string, as printable() shows them, at most `most` bytes.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// What is looked into for words; larger values are told by their size.
inline constexpr std::uint64_t kMostTold = std::uint64_t{1} << 20;

}  // namespace shale
