#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/limited_child.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/io/child_process.hpp"

namespace shale {
namespace {

using test::error_of;
using test::TempDir;

constexpr ChildLimits kLimits = {.cpu_seconds = 1, .wall_seconds = 20, .memory_bytes = 64 << 20};

ChildWork the_library(std::function<void(const SendMessage&)> work,
                      const ChildLimits& limits = kLimits) {
  return {.who = "the library",
          .path = "a.h5",
          .descriptors = {},
          .limits = limits,
          .run = std::move(work)};
}

Error child_error(const std::function<void(const SendMessage&)>& work,
                  const ChildLimits& limits = kLimits) {
  return error_of([&] { LimitedChild(the_library(work, limits)).listen([](Bytes) {}); });
}

TEST_CASE("limited child: messages of a child come in order, large and small") {
  std::vector<std::string> sent = {"", "one", std::string(1 << 20, 'x'), "two"};
  std::vector<std::string> got;
  LimitedChild(the_library([&](const SendMessage& send) {
    for (const std::string& text : sent) send(as_bytes(text));
  })).listen([&](Bytes message) { got.emplace_back(as_text(message)); });
  CHECK(got == sent);
}

TEST_CASE("limited child: an error of the child arrives with code, cause, hint and file") {
  const Error error = child_error([](const SendMessage&) {
    throw Error(Code::unsupported, "no such thing").because("a cause").hint("a hint");
  });
  CHECK(error.code() == Code::unsupported);
  CHECK(std::string(error.what()) == "a.h5: no such thing: a cause");
  CHECK(error.hint() == "a hint");
}

TEST_CASE("limited child: a child that dies of a signal is damage, by the signal's name") {
  const Error fault = child_error([](const SendMessage&) { std::raise(SIGSEGV); });
  CHECK(fault.code() == Code::damaged);
  CHECK(fault.message() == "the library died of signal 11 (SIGSEGV) on this file");
  CHECK(child_error([](const SendMessage&) { std::abort(); }).message() ==
        "the library died of signal 6 (SIGABRT) on this file");
  CHECK(child_error([](const SendMessage&) { ::_exit(7); }).message() ==
        "the library ended the process with status 7 on this file");
  CHECK(child_error([](const SendMessage&) { std::raise(SIGKILL); }).code() == Code::limit);
}

TEST_CASE(
    "limited child: a child that never ends is stopped by its processor time, or by the clock") {
  const Error busy = child_error([](const SendMessage&) {
    for (volatile bool is_endless = true; is_endless;) {
    }
  });
  CHECK(busy.code() == Code::limit);
  CHECK(busy.message() == "the library took more than 1 s of processor time on this file");
  const Error idle = child_error([](const SendMessage&) { ::pause(); },
                                 {.cpu_seconds = 1, .wall_seconds = 1, .memory_bytes = 64 << 20});
  CHECK(idle.code() == Code::limit);
  CHECK(idle.message() == "the library took more than 1 s for this file");
  const Error deaf = child_error([](const SendMessage&) {
    ::close_range(3, ~0U, 0);
    ::pause();
  });
  CHECK(deaf.message() == "the process that asked the library about this file was killed");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("limited child: a child that wants more memory than the file is refused it") {
  const Error error = child_error([](const SendMessage& send) {
    const std::vector<std::byte> much(std::size_t{256} << 20);
    send(Bytes(much).first(1));
  });
  CHECK(error.code() == Code::limit);
  CHECK(error.message() == "this file needs more than 64 MiB of memory");
}
#endif

TEST_CASE("limited child: a child writes nothing, neither on the terminal nor into a file") {
  const TempDir dir;
  const Error error = child_error([&](const SendMessage&) {
    test::write_file(dir / "x", std::string(100'000, 'x'));
    throw Error(Code::bug, "a file was written");
  });
  CHECK(error.message() == "the library died of signal 25 (SIGXFSZ) on this file");
}

TEST_CASE("limited child: a parent that refuses a message ends the child") {
  const Error error = error_of([&] {
    LimitedChild(the_library([](const SendMessage& send) {
      while (true) send(as_bytes("more"));
    })).listen([](Bytes) { throw Error(Code::limit, "enough"); });
  });
  CHECK(error.message() == "enough");
}

TEST_CASE("limited child: signals to the whole group are for the parent") {
  std::string got;
  LimitedChild(the_library([](const SendMessage& send) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::raise(number);
    send(as_bytes("still here"));
  })).listen([&](Bytes message) { got = as_text(message); });
  CHECK(got == "still here");
}

TEST_CASE("limited child: a parent that is asked to stop ends it") {
  const Error error = error_of([] {
    LimitedChild(the_library([](const SendMessage&) {
      ::pause();
    })).listen([](Bytes) {}, [] { throw Error(Code::interrupted, "stop"); });
  });
  CHECK(error.code() == Code::interrupted);
}

TEST_CASE("limited child: it has its standard descriptors, its pipe, and what it was given") {
  const TempDir dir;
  test::write_file(dir / "a", "");
  const InputFile kept(dir / "a"), other(dir / "a");
  ChildWork work = the_library([&](const SendMessage& send) {
    std::string open;
    for (int number = 0; number < 1024; ++number) open += ::fcntl(number, F_GETFD) >= 0 ? 'x' : ' ';
    const auto count = std::count(open.begin(), open.end(), 'x');
    const bool is_right = open[static_cast<std::size_t>(kept.descriptor())] == 'x' &&
                          open[static_cast<std::size_t>(other.descriptor())] == ' ';
    send(as_bytes(std::to_string(count) + (is_right ? " right" : " wrong")));
  });
  work.descriptors = {kept.descriptor()};
  std::string got;
  LimitedChild(std::move(work)).listen([&](Bytes message) { got = as_text(message); });
  CHECK(got == "5 right");
}

// Issue 13, A10.
TEST_CASE("limited child: a file opened while the standard descriptors are closed is read") {
  const TempDir dir;
  test::write_file(dir / "a", "content");
  const std::string got = test::text_from_child([&] {
    for (const int standard : {0, 1, 2}) ::close(standard);
    const InputFile file(dir / "a");
    std::string text;
    ChildWork work = the_library([&](const SendMessage& send) {
      std::vector<std::byte> bytes(file.size());
      file.read_exact(0, bytes);
      send(bytes);
    });
    work.descriptors = {file.descriptor()};
    LimitedChild(std::move(work)).listen([&](Bytes message) { text += as_text(message); });
    return text;
  });
  CHECK(got == "content");
}

}  // namespace
}  // namespace shale
