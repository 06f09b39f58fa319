#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "shale/folders/untaken_pictures.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("untaken pictures: they are told by their first bytes, and counted by type") {
  const TempDir dir;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(dir.path() + "/" + name, std::ios::binary) << bytes;
    return dir.path() + "/" + name;
  };
  UntakenPictures pictures;
  LeftOutList left_out;
  const auto look = [&](const std::string& path) {
    add_untaken(left_out, pictures.reason_for(path, "no image"));
  };
  look(write("a.heic", std::string("\0\0\0\x18"
                                   "ftypheic",
                                   12)));
  look(write("b", std::string("\0\0\0\x18"
                              "ftypheic",
                              12)));
  look(write("c.jfif.old", "\xff\xd8\xff\xe0"));
  look(write("d.gif", "not a picture"));
  look(write("e.txt", ""));
  look(dir.path() + "/missing.heic");

  add_untaken(left_out, reason_of_partner("0001.txt"));

  REQUIRE(left_out.entries.size() == 3);
  CHECK(left_out.entries[0] == LeftOut{"picture", "heic", "type_not_taken", 2});
  CHECK(left_out.entries[1] == LeftOut{"picture", "jpeg", "type_not_taken", 1});
  CHECK(left_out.entries[2] == LeftOut{"partner", "txt", "not_of_all_samples", 1});
}

}  // namespace
}  // namespace shale
