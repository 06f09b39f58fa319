#pragma once

#include "shale/report/page_parts.hpp"

namespace shale {

/// How many samples each class has: a chart, and a table that a script can sort; of many classes
/// the first and the last hundred, and a compact list.
[[nodiscard]] PageSection classes_section(const ReportFacts& facts);

/// "cat", or "label 3" where there is no name; XHTML.
[[nodiscard]] std::string class_html(const ClassCount& each);

}  // namespace shale
