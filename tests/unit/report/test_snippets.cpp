#include <doctest/doctest.h>

#include "shale/report/snippets.hpp"

namespace shale {
namespace {

TEST_CASE("snippets: a path stands in Python as a literal that means it") {
  CHECK(python_path("photos/out") == "'photos/out'");
  CHECK(python_path("it's") == "\"it's\"");
  CHECK(python_path("a\nb") == "'a\\nb'");
  CHECK(python_path("\xff'\\") == "os.fsdecode(b'\\xff\\x27\\x5c')");
}

}  // namespace
}  // namespace shale
