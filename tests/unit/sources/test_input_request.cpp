#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/sources/input_request.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("input request: all that is read is an input, lists and class tables too") {
  const TempDir dir;
  for (const char* name : {"labels.csv", "classes.txt", "x.npy"}) write_file(dir / name, "x");
  InputRequest request;
  request.inputs = {"x=" + (dir / "x.npy"), dir / "photos"};
  request.labels.path = dir / "labels.csv";
  request.classes.from = dir / "classes.txt";
  request.order.draw = DrawRequest();
  request.order.draw->file = dir / "weights.npy";

  CHECK(inputs_of(request) == std::vector<std::string>{dir / "x.npy", dir / "photos",
                                                       dir / "weights.npy", dir / "labels.csv",
                                                       dir / "classes.txt"});
}

TEST_CASE("input request: a dataset that lends its classes may be replaced by the output") {
  const TempDir dir;
  InputRequest request;
  request.inputs = {dir / "photos"};
  request.classes.from = dir.path();  // a folder: only its manifest is read
  CHECK(inputs_of(request) == std::vector<std::string>{dir / "photos"});
}

}  // namespace
}  // namespace shale
