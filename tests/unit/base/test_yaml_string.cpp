#include <doctest/doctest.h>

#include "shale/base/yaml_string.hpp"

namespace shale {
namespace {

TEST_CASE("yaml string: what YAML does not print, or ends a line with, is escaped") {
  CHECK(yaml_string("") == "\"\"");
  CHECK(yaml_string("yes") == "\"yes\"");
  CHECK(yaml_string("a \"b\" \\ c") == "\"a \\\"b\\\" \\\\ c\"");
  CHECK(yaml_string("Käse 猫 \u00a0") == "\"Käse 猫 \u00a0\"");
  CHECK(yaml_string("a\nb\t\x7f") == "\"a\\x0ab\\x09\\x7f\"");
  CHECK(yaml_string("a\u0080b\u0085\u009f") == "\"a\\x80b\\x85\\x9f\"");
  CHECK(yaml_string("\u2028\u2029\uFFFE\uFFFF\uFFFD") == "\"\\u2028\\u2029\\ufffe\\uffff\uFFFD\"");
}

}  // namespace
}  // namespace shale
