#include <doctest/doctest.h>

#include "shale/format/file_contents.hpp"

namespace shale {
namespace {

TEST_CASE("file contents: a split is the first or the last word of a path") {
  struct Row {
    std::string_view path, split;
  };
  constexpr Row kRows[] = {{"train/x", "train"},
                           {"val_images", "val"},
                           {"images_test", "test"},
                           {"test", "test"},
                           {"x", ""},
                           {"trained_x", ""},
                           {"deep/train/x", ""},
                           {"", ""},
                           {"x-validation", "validation"},
                           {"testing.y", "testing"},
                           {"contest/x", ""}};
  for (const Row& row : kRows) {
    CAPTURE(row.path);
    CHECK(split_in(row.path) == row.split);
  }
}

}  // namespace
}  // namespace shale
