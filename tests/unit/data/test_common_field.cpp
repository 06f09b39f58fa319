#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "shale/data/common_field.hpp"
#include "shale/data/field_type.hpp"

namespace shale {
namespace {

// The type of both; "" where there is none.
std::string common(std::string_view one, std::string_view other, bool are_lists = false) {
  Field known = parse_field_type(one);
  const Field found = parse_field_type(other);
  const bool is_one = are_lists ? widen_to_lists(known, found) : widen(known, found);
  return is_one ? field_type_text(known) : "";
}

struct Row {
  std::string_view one, other, both;
};

TEST_CASE("common field: of two types it takes the values of both") {
  constexpr Row kRows[] = {{"text", "bytes", "bytes"},
                           {"json", "text", "text"},
                           {"json", "json", "json"},
                           {"list[str]", "list", "list"},
                           {"float32 (2, 4)", "float32 (3, 4)", "float32 (?, 4)"},
                           {"float32 (?, 4)", "float32 (3, 4)", "float32 (?, 4)"},
                           {"float32 (2, 4)", "float32 (4,)", ""},
                           {"float32 (4,)", "float64 (4,)", ""},
                           {"integer", "real", ""},
                           {"integer", "int64 (?)", ""},
                           {"bytes", "list", ""}};
  for (const Row& row : kRows) {
    CAPTURE(row.one);
    CAPTURE(row.other);
    CHECK(common(row.one, row.other) == row.both);
    CHECK(common(row.other, row.one) == row.both);
  }
}

TEST_CASE("common field: one value and a list of such values are a list where all are lists") {
  constexpr Row kRows[] = {{"integer", "int64 (?)", "int64 (?)"},
                           {"integer", "int64 (2,)", "int64 (?)"},
                           {"real", "float32 (3,)", "float32 (?)"},
                           {"text", "list", "list"},
                           {"bytes", "list", "list"},
                           {"integer", "float32 (3,)", ""},
                           {"integer", "int64 (2, 2)", ""},
                           {"integer", "list", ""}};
  for (const Row& row : kRows) {
    CAPTURE(row.one);
    CAPTURE(row.other);
    CHECK(common(row.one, row.other, true) == row.both);
    CHECK(common(row.other, row.one, true) == row.both);
  }
}

}  // namespace
}  // namespace shale
