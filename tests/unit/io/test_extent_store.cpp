#include <cstring>
#include <random>
#include <thread>

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>

#include "shale/io/extent_store.hpp"

#include "child_process.hpp"
#include "support/sizes.hpp"
#include "support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using test::kMebi;
using test::TempDir;

constexpr std::uint64_t kPage = kDirectAlignment;

/// Writes an extent of one byte value throughout.
std::uint32_t write_value(ExtentStore& store, unsigned value) {
  const std::uint32_t buffer = store.take_buffer();
  const std::span<std::byte> bytes = store.buffer(buffer);
  std::memset(bytes.data(), static_cast<int>(value % 251), bytes.size());
  return store.write(buffer, 0, bytes.size());
}

/// True if each extent holds its value.
bool holds(const ExtentStore& store, std::span<const std::uint32_t> extents, unsigned first_value) {
  BatchReader reader({.depth = 8});
  AlignedBuffer memory;
  const std::uint64_t bytes = store.extent_bytes();
  const std::span<std::byte> all = memory.require(extents.size() * bytes);
  std::vector<ExtentStore::Part> parts;
  for (std::size_t i = 0; i < extents.size(); ++i)
    parts.push_back({extents[i], 0, all.subspan(i * bytes, bytes)});
  store.read(reader, parts);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto value = static_cast<unsigned>(first_value + i / bytes);
    if (all[i] != static_cast<std::byte>(value % 251)) return false;
  }
  return true;
}

std::string round_trip(const std::string& folder) {
  ExtentStore store(folder, 2 * kPage, 5, kMebi);
  std::vector<std::uint32_t> extents;
  for (unsigned value = 0; value < 300; ++value) extents.push_back(write_value(store, value));
  store.settle();
  return holds(store, extents, 0) ? "right" : "wrong";
}

/// What becomes of a store that is written to without end.
std::string fill(const std::string& folder) {
  ExtentStore store(folder, 4 * kPage, 3, kMebi);
  const Error error = error_of([&] {
    for (unsigned value = 0; value < 10'000; ++value) (void)write_value(store, value);
    store.settle();
  });
  return error.what();
}

TEST_CASE("extent store: what was written comes back, from disk and from memory file systems") {
  TempDir dir;
  CHECK(round_trip(dir.path()) == "right");
  CHECK(test::files_in(dir.path()).empty());
  TempDir in_memory("/dev/shm");
  CHECK(round_trip(in_memory.path()) == "right");
}

TEST_CASE("extent store: the same comes back where io_uring is refused") {
  TempDir dir;
  for (const int refused : {SYS_io_uring_setup, SYS_io_uring_enter}) {
    CHECK(test::text_from_child([&] {
            if (!test::forbid(refused)) return std::string("no seccomp");
            // Where only entering is refused, the reader would call its ring broken.
            if (refused == SYS_io_uring_setup) return round_trip(dir.path());
            ExtentStore store(dir.path(), kPage, 4, kMebi);
            for (unsigned value = 0; value < 50; ++value) (void)write_value(store, value);
            store.settle();
            return std::string("right");
          }) == "right");
  }
}

TEST_CASE("extent store: a part of a buffer goes to the same part of its extent") {
  TempDir dir;
  ExtentStore store(dir.path(), 4 * kPage, 1, kMebi);
  const std::uint32_t whole = write_value(store, 1);
  store.give_back(whole);
  const std::uint32_t buffer = store.take_buffer();
  std::memset(store.buffer(buffer).data(), 2, 4 * kPage);
  const std::uint32_t extent = store.write(buffer, kPage, 2 * kPage);
  store.settle();

  CHECK(extent == whole);
  BatchReader reader({.depth = 1});
  AlignedBuffer memory;
  const std::span<std::byte> back = memory.require(3 * kPage);
  store.read(reader, std::vector<ExtentStore::Part>{{extent, 0, back}});
  CHECK(back[kPage - 1] == std::byte{1});
  CHECK(back[kPage] == std::byte{2});
  CHECK(back[2 * kPage - 1] == std::byte{2});
  CHECK(back[2 * kPage] == std::byte{1});
}

TEST_CASE("extent store: extents that were given back are used again, the file does not grow") {
  TempDir dir;
  ExtentStore store(dir.path(), kPage, 4, kMebi);
  for (unsigned round = 0; round < 50; ++round) {
    std::vector<std::uint32_t> extents;
    for (unsigned i = 0; i < 7; ++i) extents.push_back(write_value(store, round + i));
    store.settle();
    CHECK(holds(store, extents, round));
    for (const std::uint32_t extent : extents) store.give_back(extent);
  }
  CHECK(store.bytes() == 7 * kPage);
}

TEST_CASE("extent store: threads read and give back what is settled while another one writes") {
  TempDir dir;
  ExtentStore store(dir.path(), 2 * kPage, 8, kMebi);
  std::vector<std::uint32_t> settled;
  for (unsigned value = 0; value < 64; ++value) settled.push_back(write_value(store, value));
  store.settle();
  bool is_right = true;
  std::thread reading([&] {
    for (unsigned value = 0; value < 64; ++value) {
      is_right = is_right && holds(store, std::span(settled).subspan(value, 1), value);
      store.give_back(settled[value]);
    }
  });
  std::vector<std::uint32_t> written;
  for (unsigned value = 0; value < 500; ++value) written.push_back(write_value(store, value));
  reading.join();
  store.settle();
  CHECK(is_right);
  CHECK(holds(store, written, 0));
}

TEST_CASE("extent store: it survives the thread that began its writes, and its own end") {
  TempDir dir;
  ExtentStore store(dir.path(), 64 * kPage, 8, kMebi);
  std::vector<std::uint32_t> extents;
  std::thread([&] {
    for (unsigned value = 0; value < 20; ++value) extents.push_back(write_value(store, value));
  }).join();
  store.settle();
  CHECK(holds(store, extents, 0));
  for (int round = 0; round < 20; ++round) {
    ExtentStore dropped(dir.path(), 64 * kPage, 4, kMebi);
    for (unsigned value = 0; value < 3; ++value) (void)write_value(dropped, value);
  }
}

TEST_CASE("extent store: a full file system names the bytes wanted and free") {
  TempDir dir;
  const std::string text = test::text_from_child([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("small", dir.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      return "cannot mount";
    }
    return fill(dir.path());
  });
  if (text == "cannot mount") {
    MESSAGE("not checked: no right to mount");
    return;
  }
  // Which of the writes under way failed first is the kernel's choice.
  CHECK(text.starts_with(dir.path() + "/(scratch): byte 1"));
  CHECK(text.ends_with(": no space for 16384 bytes, only 0 available: No space left on device"));
}

TEST_CASE("extent store: a limit on files, and a folder that is not there, are told") {
  TempDir dir;
  const std::string text = test::text_from_child([&] {
    test::limit_file_size(65'536);
    return fill(dir.path());
  });
  CAPTURE(text);
  CHECK(text.starts_with(dir.path() + "/(scratch): byte "));
  CHECK(text.ends_with(": 16384 more bytes exceed the file size limit: File too large"));
  const Error error = error_of([] { ExtentStore("/no/such/folder", kPage, 1, 0); });
  CHECK(error.code() == Code::io);
  CHECK(error.file() == "/no/such/folder");
}

TEST_CASE("extent store: more than the end is not read, more buffers than there are not taken") {
  TempDir dir;
  CHECK(error_of([&] { ExtentStore(dir.path(), kPage + 1, 1, 0); }).code() == Code::bug);
  CHECK(error_of([&] { ExtentStore(dir.path(), 0, 1, 0); }).code() == Code::bug);
  ExtentStore store(dir.path(), kPage, 2, kMebi);
  (void)store.take_buffer();
  (void)store.take_buffer();
  CHECK(error_of([&] { (void)store.take_buffer(); }).code() == Code::bug);

  BatchReader reader({.depth = 1});
  AlignedBuffer memory;
  const std::vector<ExtentStore::Part> part = {{1 << 20, 0, memory.require(kPage)}};
  const Error error = error_of([&] { store.read(reader, part); });
  CHECK(error.code() == Code::io);
  CHECK(error.file() == dir.path() + "/(scratch)");
  CHECK(error.offset() == kPage << 20);
}

}  // namespace
}  // namespace shale
