#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "shale/io/atomic_file.hpp"

#include "child_process.hpp"
#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

TEST_CASE("atomic file: makes a file, replaces one, and leaves nothing else") {
  TempDir dir;
  write_file_atomically(dir / "f", as_bytes("first"));
  CHECK(read_text(dir / "f") == "first");
  write_file_atomically(dir / "f", as_bytes(""));
  CHECK(read_text(dir / "f").empty());
  CHECK(files_in(dir.path()) == std::vector<std::string>{"f"});
}

TEST_CASE("atomic file: a failed write leaves the old file whole and no other") {
  TempDir dir;
  write_file(dir / "f", "old");
  const std::string text = text_from_child([&] {
    limit_file_size(4096);
    const std::string large(10'000, 'x');
    return std::string(error_of([&] { write_file_atomically(dir / "f", as_bytes(large)); }).what());
  });

  CHECK(text ==
        (dir / "f") + ": byte 4096: 5904 more bytes make the file too large: File too large");
  CHECK(read_text(dir / "f") == "old");
  CHECK(files_in(dir.path()) == std::vector<std::string>{"f"});
}

TEST_CASE("atomic file: a reader sees one version or the other, never a part") {
  TempDir dir;
  const std::string versions[] = {std::string(100'000, 'a'), std::string(50'000, 'b')};
  write_file_atomically(dir / "f", as_bytes(versions[0]));
  std::jthread writer([&](const std::stop_token& stop) {
    for (unsigned round = 0; !stop.stop_requested(); ++round) {
      write_file_atomically(dir / "f", as_bytes(versions[round % 2]));
    }
  });
  for (int round = 0; round < 300; ++round) {
    const std::string seen = read_text(dir / "f");
    REQUIRE((seen == versions[0] || seen == versions[1]));
  }
}

TEST_CASE("atomic file: the umask decides its mode, as for any other file") {
  TempDir dir;
  const mode_t before = ::umask(027);
  write_file_atomically(dir / "f", as_bytes("x"));
  ::umask(before);
  struct stat facts {};
  REQUIRE(::stat((dir / "f").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0640);
}

TEST_CASE("atomic file: works for a bare name and for one as long as names may be") {
  TempDir dir;
  const std::string long_name(255, 'n');
  const std::string text = text_from_child([&] {
    if (::chdir(dir.path().c_str()) != 0) return std::string("no chdir");
    write_file_atomically("bare", as_bytes("x"));
    write_file_atomically(long_name, as_bytes("x"));
    sync_directory(".");
    return std::string("done");
  });
  CHECK(text == "done");
  CHECK(files_in(dir.path()) == std::vector<std::string>{"bare", long_name});
}

TEST_CASE("atomic file: a missing folder is an io error that names the file wanted") {
  const Error error = error_of([] { write_file_atomically("/no/such/folder/f", as_bytes("x")); });
  CHECK(error.code() == Code::io);
  CHECK(error.file() == "/no/such/folder/f");
  CHECK(error_of([] { sync_directory("/no/such/folder"); }).code() == Code::io);
}

TEST_CASE("rename_file: replaces the target, and names both ends when it cannot") {
  TempDir dir;
  write_file(dir / "a", "a");
  write_file(dir / "b", "b");
  rename_file(dir / "a", dir / "b");
  CHECK(read_text(dir / "b") == "a");

  const Error error = error_of([&] { rename_file(dir / "a", dir / "c\n"); });
  CHECK(error.code() == Code::io);
  CHECK(std::string(error.what()) ==
        (dir / "a") + ": cannot be renamed to '" + (dir / "c\\n") + "': No such file or directory");
}
