#include <string_view>

#include <doctest/doctest.h>
#include <stdlib.h>

#include "shale/io/temporary_folder.hpp"

namespace shale {
namespace {

TEST_CASE(
    "temporary folder: TMPDIR, or /tmp where it is unset or empty, and the hint names TMPDIR") {
  const char* set = ::getenv("TMPDIR");
  const std::string before = set != nullptr ? set : "";
  ::setenv("TMPDIR", "/scratch/me", 1);
  CHECK(temporary_folder() == "/scratch/me");
  CHECK(std::string_view(temporary_folder_hint("/scratch/me")).find("TMPDIR") !=
        std::string_view::npos);
  CHECK(std::string_view(temporary_folder_hint("/data")).empty());
  ::setenv("TMPDIR", "", 1);
  CHECK(temporary_folder() == "/tmp");
  ::unsetenv("TMPDIR");
  CHECK(temporary_folder() == "/tmp");
  if (set != nullptr) ::setenv("TMPDIR", before.c_str(), 1);
}

}  // namespace
}  // namespace shale
