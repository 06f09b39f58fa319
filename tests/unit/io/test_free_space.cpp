#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "shale/io/free_space.hpp"

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
  CHECK(text.find(dir.path() + ": 4 EiB are needed here, ") != std::string::npos);
  CHECK(text.find(" are free") != std::string::npos);
}

}  // namespace
}  // namespace shale
