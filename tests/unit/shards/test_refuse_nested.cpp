#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "shale/shards/refuse_nested.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

namespace fs = std::filesystem;

// "" where the output may be written, else the code's effect: it was refused for usage.
bool is_refused(const std::string& output, const std::string& input) {
  try {
    refuse_nested({output}, {input});
    return false;
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    return true;
  }
}

TEST_CASE("refuse nested: an output that is, holds or lies in an input, by any spelling") {
  const TempDir dir;
  write_file(dir / "in/a/x.jpg", "x");
  write_file(dir / "in/b/y.npy", "y");
  fs::create_directory_symlink(dir / "in", dir / "link");
  fs::create_hard_link(dir / "in/b/y.npy", dir / "twin.npy");
  struct Row {
    std::string output, input;
  };
  const Row rows[] = {
      {"in", "in"},       {"in/", "in"},      {"in/a/../../in", "in"},
      {"link", "in"},     {"in/new", "in"},   {"in/a/deep/er", "in"},
      {"link/new", "in"}, {"in/new", "link"}, {"in/b/y.npy", "in/b/y.npy"},
      {"in", "in/a"},     {".", "in"},        {"twin.npy", "in/b/y.npy"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.output);
    CAPTURE(row.input);
    CHECK(is_refused(dir / row.output, dir / row.input));
  }
}

TEST_CASE("refuse nested: a neighbour, also one whose name begins alike, is no input") {
  const TempDir dir;
  write_file(dir / "in/x.jpg", "x");
  fs::create_directory(dir / "in2");
  for (const char* output : {"out", "in2", "in2/new", "in.lmdb", "new/deep"}) {
    CAPTURE(output);
    CHECK_FALSE(is_refused(dir / output, dir / "in"));
  }
}

TEST_CASE("refuse nested: outputs of one command may not be one another, nor lie in one another") {
  const TempDir dir;
  const auto code_of = [&](const char* one, const char* other) {
    return error_of([&] { refuse_nested({dir / one, dir / other}, {}); }).code();
  };
  CHECK(code_of("x.npy", "x.npy") == Code::usage);
  CHECK(code_of("x.npy", "./x.npy") == Code::usage);
  CHECK(code_of("out", "out/x.npy") == Code::usage);
  CHECK_NOTHROW(refuse_nested({dir / "x.npy", dir / "y.npy"}, {}));
}

TEST_CASE("refuse nested: a folder of the input that lies elsewhere is found when it is listed") {
  const TempDir dir;
  fs::create_directories(dir / "elsewhere/deep");
  fs::create_directory(dir / "in");
  const auto entered = refuse_folders_with(dir / "elsewhere/deep/out", dir / "in");
  const auto enter = [&](const char* name) {
    struct stat facts {};
    REQUIRE(::stat((dir / name).c_str(), &facts) == 0);
    entered(facts.st_dev, facts.st_ino);
  };
  CHECK_NOTHROW(enter("in"));
  CHECK(error_of([&] { enter("elsewhere"); }).code() == Code::usage);
  CHECK(error_of([&] { enter("elsewhere/deep"); }).code() == Code::usage);
}

}  // namespace
}  // namespace shale
