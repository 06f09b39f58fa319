#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/path_facts.hpp"

#include "support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using test::TempDir;
using test::write_file;

TEST_CASE("path facts: a link that leads nowhere stands, but nothing is behind it") {
  TempDir dir;
  write_file(dir / "file", "12345");
  REQUIRE(::symlink("nothing", (dir / "link").c_str()) == 0);
  REQUIRE(::symlink(dir.path().c_str(), (dir / "folder").c_str()) == 0);
  CHECK(stands(dir / "link"));
  CHECK_FALSE(facts_behind(dir / "link"));
  CHECK_FALSE(stands(dir / "none"));
  CHECK_FALSE(stands(dir / "file/below"));
  CHECK(facts_at(dir / "file")->st_size == 5);
  CHECK(is_real_folder(dir.path()));
  CHECK_FALSE(is_real_folder(dir / "folder"));
}

TEST_CASE("path facts: what cannot be reached is not nothing") {
  TempDir dir;
  const Error error = error_of([&] { (void)stands(dir / std::string(300, 'x')); });
  CHECK(error.code() == Code::io);
  CHECK(std::string(error.what()).find("File name too long") != std::string::npos);
}

}  // namespace
}  // namespace shale
