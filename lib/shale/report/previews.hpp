#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shale/report/field_roles.hpp"
#include "shale/report/report_facts.hpp"

namespace shale {

/// A look at a few rows of arrays and texts: a picture, a line, or words. By field; null for other
/// fields. Errors: same as finding_of_damage.
[[nodiscard]] std::vector<Json> make_previews(ReportedSet& set, const std::vector<FieldUse>& uses,
                                              std::span<const std::uint64_t> rows,
                                              ReportPictures& pictures);

}  // namespace shale
