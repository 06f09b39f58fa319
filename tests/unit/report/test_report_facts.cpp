#include <doctest/doctest.h>

#include "shale/report/report_facts.hpp"

using namespace shale;

TEST_CASE("report facts: what was met while reading makes the set damaged without --verify") {
  ReportFacts facts;
  CHECK_FALSE(facts.is_damaged());
  facts.met.emplace_back();
  CHECK(facts.is_damaged());
}
