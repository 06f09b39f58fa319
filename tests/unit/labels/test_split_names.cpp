#include <doctest/doctest.h>

#include "shale/labels/split_names.hpp"

namespace shale {
namespace {

TEST_CASE("split names: any spelling of a split is known") {
  for (const char* name : {"train", "TRAIN", "Training", "seg_train", "train2017", "x-Train"})
    CHECK(split_of_folder(name) == "train");
  CHECK(split_of_folder("Testing") == "test");
  for (const char* name : {"cats", "trainer", "strain", "", "latest"})
    CHECK(split_of_folder(name).empty());
}

TEST_CASE("split names: folders are splits if all are, each another one, with the same name else") {
  CHECK(spelled_splits({"TEST", "TRAIN"}).at("train") == "TRAIN");
  CHECK(spelled_splits({"seg_test", "seg_train"}).at("test") == "seg_test");
  CHECK(spelled_splits({"train2017", "val2017"}).size() == 2);
  CHECK(spelled_splits({"Training"}).empty());
  CHECK(spelled_splits({"Train", "train"}).empty());
  CHECK(spelled_splits({"cat_train", "dog_test"}).empty());
  CHECK(spelled_splits({"Test", "Train", "cats"}).empty());
}

}  // namespace
}  // namespace shale
