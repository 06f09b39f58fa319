#pragma once

#include "shale/report/page_parts.hpp"

namespace shale {

/// The name that a page has for the dataset: the last part of its path. Raw bytes.
[[nodiscard]] std::string name_of_dataset(const ReportFacts& facts);

/// The top of the page: what it is, its numbers, and what deserves a look, the worst first.
[[nodiscard]] std::string page_summary(const ReportFacts& facts);

}  // namespace shale
