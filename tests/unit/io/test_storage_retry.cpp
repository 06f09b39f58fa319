#include <cerrno>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "shale/io/storage_retry.hpp"

#include "support/temp_dir.hpp"

namespace shale {
namespace {

using test::TempDir;

/// A call that fails so often before it goes well.
struct FailingCall {
  int failures, error_number;
  int calls = 0;

  int operator()() {
    errno = error_number;
    return ++calls <= failures ? -1 : 7;
  }
};

int result_of(FailingCall& call) {
  return retried("some/file", [&] { return call(); });
}

TEST_CASE("storage retry: a hiccup is repeated, and said once for the file") {
  (void)take_retry_notes();
  for (const int error : {EIO, ESTALE, EAGAIN}) {
    FailingCall call{1, error};
    CHECK(result_of(call) == 7);
    CHECK(call.calls == 2);
  }
  const std::vector<std::string> notes = take_retry_notes();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].starts_with("some/file: retried 3 times after a storage fault ("));
  CHECK(take_retry_notes().empty());
}

TEST_CASE("storage retry: three repetitions, then the error stands") {
  FailingCall call{100, EIO};
  CHECK(result_of(call) == -1);
  CHECK(errno == EIO);
  CHECK(call.calls == 4);
}

TEST_CASE("storage retry: an interrupted call is repeated as often as it takes") {
  (void)take_retry_notes();
  FailingCall call{100, EINTR};
  CHECK(result_of(call) == 7);
  CHECK(take_retry_notes().empty());
}

TEST_CASE("storage retry: what will not go away ends it at once") {
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EACCES, ENOENT}) {
    FailingCall call{1, error};
    CHECK(result_of(call) == -1);
    CHECK(errno == error);
    CHECK(call.calls == 1);
  }
}

TEST_CASE("storage retry: an fsync is repeated only if it was interrupted") {
  FailingCall interrupted{2, EINTR}, failed{1, EIO};
  CHECK(uninterrupted([&] { return interrupted(); }) == 7);
  CHECK(uninterrupted([&] { return failed(); }) == -1);
  CHECK(failed.calls == 1);
}

TEST_CASE("storage retry: an open file is named by its path, the first files only") {
  TempDir dir;
  const int descriptor = ::open(dir.path().c_str(), O_RDONLY | O_CLOEXEC);
  (void)take_retry_notes();
  count_retry(descriptor, EIO);
  ::close(descriptor);
  CHECK(take_retry_notes().at(0).starts_with(dir.path() + ": retried 1 time "));
  for (int file = 0; file < 20; ++file) count_retry("file-" + std::to_string(file), EIO);
  const std::vector<std::string> notes = take_retry_notes();
  CHECK(notes.size() == 17);
  CHECK(notes.back() == "4 more retries in other files");
}

}  // namespace
}  // namespace shale
