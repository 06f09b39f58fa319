#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shale/report/field_roles.hpp"
#include "shale/report/report_json.hpp"

namespace shale {

/// A path as Python source: 'photos', or os.fsdecode(b'...') where it is not UTF-8.
[[nodiscard]] std::string python_path(std::string_view path);

/// How the dataset is read: by shale, by a library of its format, and without any, each with its
/// own paths and fields. Nothing is opened for it but what is open. Errors: same as
/// finding_of_damage.
[[nodiscard]] Json make_snippets(ReportedSet& set, const std::vector<FieldUse>& uses);

}  // namespace shale
