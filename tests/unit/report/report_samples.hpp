#pragma once

#include <cstddef>
#include <string>

#include "shale/report/report_facts.hpp"

namespace shale::test {

/// Facts in which every section of the page has something to show. Every string is `word` with a
/// number, but for those that decide what is shown; so a test sees where each of them went.
[[nodiscard]] ReportFacts facts_of_everything(const std::string& word);

/// Of a set without samples.
[[nodiscard]] ReportFacts facts_of_nothing();

/// Facts of more than 200 classes, one per label, named "class 0" and so on: the first and the last
/// hundred, and a list of at most 10,000.
[[nodiscard]] Json many_classes(std::size_t count, const std::string& prefix);

/// A 1 x 1 PNG.
[[nodiscard]] ReportImage smallest_png();

}  // namespace shale::test
