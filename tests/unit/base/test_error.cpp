#include <cerrno>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"

namespace shale {

TEST_CASE("error: the text has file, byte, sample, fact and cause in this order") {
  Error error(Code::damaged, "checksum {:#x}, expected {:#x}", 0x9a, 0x1b);
  error.hint("copy it again").because("bad cable").for_sample("n01/42", 7).at("a.h5", 12);
  CHECK(error.what() ==
        std::string("a.h5: byte 12: sample 'n01/42': checksum 0x9a, expected 0x1b: bad cable"));
  CHECK(error.hint() == "copy it again");
  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "checksum 0x9a, expected 0x1b");
}

TEST_CASE("error: a sample without key is named by its number") {
  CHECK(Error(Code::io, "gone").for_sample("", 7).what() == std::string("sample 7: gone"));
}

TEST_CASE("error: what was said nearer to the fact stays") {
  Error error(Code::io, "gone");
  error.at("near", 1).for_sample("a").because("first").hint("one");
  error.at("far", 2).for_sample("b").because("second").hint("two");
  CHECK(error.what() == std::string("near: byte 1: sample 'a': gone: first"));
  CHECK(error.hint() == "one");
}

TEST_CASE("error: an outer place fills what the inner one left open") {
  CHECK(Error(Code::io, "gone").at("", 5).at("file").what() == std::string("file: byte 5: gone"));
  CHECK(Error(Code::io, "gone").at("file").at("file", 5).what() ==
        std::string("file: byte 5: gone"));
}

TEST_CASE("error: a byte of another file is not taken for one of this file") {
  CHECK(Error(Code::io, "gone").at("inner").at("outer", 5).what() == std::string("inner: gone"));
}

TEST_CASE("error: a hostile path or key cannot forge a line") {
  const Error error = Error(Code::io, "gone").at("a\nhint: rm").for_sample("\x1b[2J");
  CHECK(error.what() == std::string("a\\nhint: rm: sample '\\x1b[2J': gone"));
  CHECK(error.file() == "a\nhint: rm");
}

TEST_CASE("error: errno becomes the system's words") {
  const Error error = Error(Code::io, "cannot write").because_errno(ENOSPC);
  CHECK(error.what() == std::string("cannot write: No space left on device"));
}

}  // namespace shale
