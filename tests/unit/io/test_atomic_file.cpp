#include <filesystem>

#include <doctest/doctest.h>

#include "shale/io/atomic_file.hpp"

#include "child_process.hpp"
#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

TEST_CASE("rename: to a free name it moves the file, to a taken one it changes nothing") {
  TempDir dir;
  write_file(dir / "from", "new");
  write_file(dir / "taken", "old");
  std::filesystem::create_symlink("nowhere", dir / "link");
  std::filesystem::create_directory(dir / "folder");

  for (const char* name : {"taken", "link", "folder"}) {
    CAPTURE(name);
    CHECK(!rename_to_free_name(dir / "from", dir / name));
  }
  CHECK(read_text(dir / "from") == "new");
  CHECK(read_text(dir / "taken") == "old");
  CHECK(rename_to_free_name(dir / "from", dir / "free"));
  CHECK(read_text(dir / "free") == "new");
}

TEST_CASE("rename: what is not there is an io error with both names") {
  TempDir dir;
  for (const bool is_free : {false, true}) {
    const Error error = error_of([&] {
      if (!is_free) rename_file(dir / "a", dir / "b");
      if (is_free) (void)rename_to_free_name(dir / "a", dir / "b");
    });
    CHECK(error.code() == Code::io);
    CHECK(error.file() == dir / "a");
    CHECK(error.message().find(dir / "b") != std::string::npos);
  }
}

TEST_CASE("directory sync: a missing folder is an io error, one that may only be written is not") {
  TempDir dir;
  CHECK(error_of([&] { sync_directory(dir / "none"); }).code() == Code::io);
  std::filesystem::create_directory(dir / "drop");
  const std::string text = text_from_child([&]() -> std::string {
    std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
    std::filesystem::permissions(dir / "drop", std::filesystem::perms(0333));
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return "cannot become nobody";
    sync_directory(dir / "drop");
    return "done";
  });
  CHECK((text == "done" || text == "cannot become nobody"));
}
