#include <doctest/doctest.h>

#include "shale/data/schema.hpp"
#include "shale/report/report_facts.hpp"
#include "shale/report/thumbnails.hpp"

using namespace shale;

TEST_CASE("draw_array: sides whose product does not fit into 64 bits are no picture") {
  const std::vector<std::byte> pixels(100);
  for (const std::uint64_t side : {kFreeSide, std::uint64_t{1} << 32}) {
    CAPTURE(side);
    const std::uint64_t shape[] = {side, side};
    CHECK(draw_array(NumberKind::uint8, shape, pixels, 64).bytes.empty());
  }
}

TEST_CASE("report facts: what was met while reading makes the set damaged without --verify") {
  ReportFacts facts;
  CHECK_FALSE(facts.is_damaged());
  facts.met.emplace_back();
  CHECK(facts.is_damaged());
}
