#include <doctest/doctest.h>

#include "shale/folders/odd_classes.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

TEST_CASE("odd classes: folders named like splits, or like images and annotations, are told of") {
  CHECK(notes_on_classes({"cats", "dogs", "train"}).empty());
  CHECK(notes_on_classes({"cats", "train2017", "val2017"}).size() == 1);
  CHECK(notes_on_classes({"images", "masks"}).size() == 1);
  CHECK(notes_on_classes({"images", "pictures"}).empty());
}

TEST_CASE("odd classes: names of splits are known") {
  CHECK(is_split_name("val"));
  CHECK_FALSE(is_split_name("cats"));
}

}  // namespace
}  // namespace shale
