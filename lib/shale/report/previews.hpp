#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shale/report/field_roles.hpp"

namespace shale {

/// Adds a look at a few rows to the facts of arrays and texts: a picture, a line, or words. Errors:
/// same as finding_of_damage.
void add_previews(ReportedSet& set, const std::vector<FieldUse>& uses,
                  std::span<const std::uint64_t> rows, std::vector<FieldFacts>& fields);

}  // namespace shale
