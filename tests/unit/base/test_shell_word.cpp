#include <doctest/doctest.h>

#include "shale/base/shell_word.hpp"

namespace shale {
namespace {

TEST_CASE("shell word: a path stands in a shell as one word") {
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
