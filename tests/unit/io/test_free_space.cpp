#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "shale/io/free_space.hpp"
#include "shale/io/input_file.hpp"

#include "support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using test::TempDir;

TEST_CASE("free space: less than is needed is told with folder and both numbers") {
  TempDir dir;
  require_free_space(dir.path(), 0);
  require_free_space(dir.path(), 1);
  require_free_space(dir / "none", 1);
  CHECK_FALSE(free_space(dir / "none"));
  CHECK(free_space("/proc") == 0);
  const Error error = error_of([&] { require_free_space(dir.path(), std::uint64_t{1} << 62); });
  CHECK(error.code() == Code::io);
  const std::string text = error.what();
  CHECK(text.find(dir.path() + ": needs 4 EiB of free space, only ") != std::string::npos);
  CHECK(text.find(" available") != std::string::npos);
}

TEST_CASE(
    "free space: of an open file it is that of its file system, and the hint is the caller's") {
  CHECK(free_space(InputFile("/proc/self/status").descriptor()) == 0);
  CHECK_FALSE(free_space(-1));
  const Error error = error_of([] { require_free_space("/proc", 1, "use another disk"); });
  CHECK(std::string(error.what()).find("needs 1 B of free space, only 0 B available") !=
        std::string::npos);
  CHECK(error.hint() == "use another disk");
}

}  // namespace
}  // namespace shale
