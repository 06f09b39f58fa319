#include <doctest/doctest.h>

#include "shale/base/path_text.hpp"

namespace shale {
namespace {

TEST_CASE("path text: a name below a directory, and the folder of a file") {
  CHECK(join_path("a", "b") == "a/b");
  CHECK(join_path("a/", "b") == "a/b");
  CHECK(join_path("/", "b") == "/b");
  CHECK(join_path("", "b") == "b");
  CHECK(folder_of_file("b") == ".");
  CHECK(folder_of_file("/b") == "/");
  CHECK(folder_of_file("a/b") == "a");
  CHECK(folder_of_file("/a/b/c") == "/a/b");
}

}  // namespace
}  // namespace shale
