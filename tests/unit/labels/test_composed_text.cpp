#include <doctest/doctest.h>

#include "shale/labels/composed_text.hpp"

namespace shale {
namespace {

TEST_CASE("composed text: letters and marks are one character, as in NFC") {
  struct Row {
    std::string_view apart, composed;
  };
  constexpr Row kRows[] = {{"plain.jpg", "plain.jpg"},         {"cafe\u0301.jpg", "caf\u00e9.jpg"},
                           {"caf\u00e9.jpg", "caf\u00e9.jpg"}, {"Vie\u0323\u0302t", "Vi\u1ec7t"},
                           {"A\u030aU\u0308", "\u00c5\u00dc"}, {"\u304b\u3099", "\u304c"},
                           {"\u1112\u1161\u11ab", "\ud55c"},   {"\u0301x", "\u0301x"},
                           {"x\u0301\xff", "x\u0301\xff"},     {"", ""}};
  for (const Row& row : kRows) {
    CAPTURE(row.apart);
    CHECK(composed_text(row.apart) == row.composed);
  }
}

}  // namespace
}  // namespace shale
