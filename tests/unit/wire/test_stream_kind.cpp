#include <string>

#include <doctest/doctest.h>

#include "shale/wire/stream_kind.hpp"

#include "tests/support/tar_builder.hpp"

namespace shale {
namespace {

using namespace std::string_literals;

TEST_CASE("stream kind: archives and their compressions are told by their first bytes") {
  const std::string tar = test::TarBuilder().add("a/b.png", "data").whole();
  CHECK(stream_kind_of(as_bytes(tar)) == StreamKind::tar);
  CHECK(stream_kind_of(as_bytes(std::string(1024, '\0'))) == StreamKind::tar);
  CHECK(stream_kind_of(as_bytes("\x1f\x8b\x08\x00"s)) == StreamKind::gzip);
  CHECK(stream_kind_of(as_bytes("\x28\xb5\x2f\xfd"s)) == StreamKind::zstd);
  CHECK(stream_kind_of(as_bytes("\x5c\x2a\x4d\x18"s)) == StreamKind::zstd);
  CHECK(stream_kind_of(as_bytes("\xfd"
                                "7zXZ\0"s)) == StreamKind::xz);
  CHECK(stream_kind_of(as_bytes("BZh9\x31\x41\x59\x26\x53\x59"s)) == StreamKind::bzip2);
  CHECK(stream_kind_of(as_bytes("BZh1\x17\x72\x45\x38\x50\x90"s)) == StreamKind::bzip2);
}

TEST_CASE("stream kind: a list of files is neither, however it begins") {
  for (const std::string& text :
       {""s, "\0"s, "a/b.png\t3\n"s, "BZh9/x.png\n"s, std::string(600, 'x'), "\x1f\x8b\x07"s,
        "\x4c\x2a\x4d\x18"s, std::string(511, '\0'), "photos/a.png\0photos/b.png\0"s}) {
    CAPTURE(text);
    CHECK(stream_kind_of(as_bytes(text)) == StreamKind::other);
  }
  std::string wrong = test::TarBuilder().add("a/b.png", "data").whole();
  wrong[0] = 'b';
  CHECK(stream_kind_of(as_bytes(wrong)) == StreamKind::other);
}

}  // namespace
}  // namespace shale
