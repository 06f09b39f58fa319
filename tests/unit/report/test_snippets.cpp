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

TEST_CASE("snippets: a path stands in a shell as one word") {
  CHECK(shell_word("photos/out-1.npy") == "photos/out-1.npy");
  CHECK(shell_word("my photos") == "'my photos'");
  CHECK(shell_word("$(rm -rf x)") == "'$(rm -rf x)'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("-o") == "'-o'");
  CHECK(shell_word("a\nb\xff'") == "$'a\\x0ab\\xff\\x27'");
  CHECK(shell_word("") == "''");
}

}  // namespace
}  // namespace shale
