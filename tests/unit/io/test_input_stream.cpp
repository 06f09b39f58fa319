#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/input_stream.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

std::string file_of(const TempDir& dir, std::string_view name, std::string_view content) {
  write_file(dir / name, content);
  return dir / name;
}

std::string rest_of(InputStream& stream, std::size_t piece = 7) {
  std::string text;
  std::string buffer(piece, '\0');
  while (const std::uint64_t bytes = stream.read(std::as_writable_bytes(std::span(buffer))))
    text.append(buffer, 0, bytes);
  return text;
}

TEST_CASE("input stream: what was peeked is read again, once") {
  const TempDir dir;
  const std::string path = file_of(dir, "x", "0123456789abcdef");
  InputStream stream(path);
  CHECK(as_text(stream.peek(4)) == "0123");
  CHECK(as_text(stream.peek(10)) == "0123456789");
  CHECK(as_text(stream.peek(2)) == "01");
  CHECK(stream.position() == 0);
  CHECK(rest_of(stream, 3) == "0123456789abcdef");
  CHECK(stream.position() == 16);
  CHECK(stream.peek(4).empty());
}

TEST_CASE("input stream: a stream shorter than the peek gives all it has") {
  const TempDir dir;
  InputStream stream(file_of(dir, "x", "short"));
  CHECK(as_text(stream.peek(512)) == "short");
  CHECK(rest_of(stream) == "short");
  InputStream none(file_of(dir, "empty", ""));
  CHECK(none.peek(512).empty());
  CHECK(rest_of(none).empty());
}

TEST_CASE("input stream: a pipe is read to its end, however its pieces come") {
  const TempDir dir;
  const std::string path = dir.path() + "/pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::thread writer([&path] {
    const int pipe = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    for (const char c : std::string("piece by piece")) (void)!::write(pipe, &c, 1);
    ::close(pipe);
  });
  {
    InputStream stream(path);
    CHECK(as_text(stream.peek(5)) == "piece");
    CHECK(rest_of(stream) == "piece by piece");
  }
  writer.join();
}

TEST_CASE("input stream: whoever waits for a silent pipe can be stopped") {
  const TempDir dir;
  const std::string path = dir.path() + "/pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int other_end = ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // so that opening does not wait
  REQUIRE(other_end >= 0);
  int asked = 0;
  InputStream stream(path, [&asked] {
    if (++asked == 2) throw Error(Code::interrupted, "stopped");
  });
  std::array<std::byte, 4> into{};
  const Error error = error_of([&] { (void)stream.read(into); });
  CHECK(error.code() == Code::interrupted);
  ::close(other_end);
}

TEST_CASE("input stream: a file that is not there, and one that cannot be read, are named") {
  const TempDir dir;
  const std::string missing = dir.path() + "/missing";
  const Error error = error_of([&] { const InputStream stream(missing); });
  CHECK(error.code() == Code::not_found);
  CHECK(error.file() == missing);
  InputStream folder(dir.path());
  std::array<std::byte, 4> into{};
  const Error unreadable = error_of([&] { (void)folder.read(into); });
  CHECK(unreadable.code() == Code::io);
  CHECK(unreadable.offset() == 0);
}

}  // namespace
}  // namespace shale
