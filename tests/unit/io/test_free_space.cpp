#include <cerrno>
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

TEST_CASE("free space: too few inodes are told with both numbers, where there is a limit") {
  TempDir dir;
  CHECK_FALSE(free_files("/proc"));
  CHECK_FALSE(free_files(dir / "none"));
  CHECK(has_room("/proc", {.files = 5}));
  CHECK_FALSE(has_room("/proc", {.bytes = 5}));
  if (!free_files(dir.path())) return;
  const Error error = error_of(
      [&] { require_room(dir.path(), {.files = std::uint64_t{1} << 62}, "not about files"); });
  CHECK(std::string(error.what()).find(": needs 4,611,686,018,427,387,904 free inodes") !=
        std::string::npos);
  CHECK(error.hint().find("inode") == std::string::npos);
  CHECK(error.hint().find("remove files") == 0);
}

TEST_CASE("free space: a call that failed for want of room says what is free and what to do") {
  TempDir dir;
  const Error full = because_of_room(Error(Code::io, "cannot grow"), dir / "none", ENOSPC);
  CHECK(std::string(full.what()).find(dir / "none: cannot grow: No space left on device (") == 0);
  CHECK(full.cause().find(" free") != std::string::npos);
  CHECK_FALSE(full.hint().empty());
  const Error quota = because_of_room(Error(Code::io, "cannot grow"), dir.path(), EDQUOT);
  CHECK(quota.hint().find("quota") != std::string::npos);
  const Error other = because_of_room(Error(Code::io, "cannot grow"), dir.path(), EACCES);
  CHECK(other.cause() == "Permission denied");
  CHECK(other.hint().empty());
}

TEST_CASE("free space: a file system in memory stores what it is given") {
  CHECK_FALSE(may_store_less("/dev/shm"));
  CHECK(may_store_less("/none"));
}

}  // namespace
}  // namespace shale
