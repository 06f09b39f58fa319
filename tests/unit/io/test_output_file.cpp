#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "shale/io/output_file.hpp"

#include "child_process.hpp"
#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

namespace {

std::string random_text(std::size_t bytes, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::string text(bytes, '\0');
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = random();
    std::memcpy(text.data() + at, &word, std::min<std::size_t>(8, bytes - at));
  }
  return text;
}

/// The definition, straight from the document.
std::vector<Hash128> blocks_of(std::string_view content) {
  std::vector<Hash128> blocks;
  for (std::size_t at = 0; at < content.size(); at += kBlockBytes) {
    blocks.push_back(xxh3_128(as_bytes(content.substr(at, kBlockBytes))));
  }
  return blocks;
}

void append_in_pieces(OutputFile& file, std::string_view content, std::size_t piece) {
  for (std::size_t at = 0; at < content.size(); at += piece)
    file.append(as_bytes(content.substr(at, piece)));
}

std::string describe_error(const Error& error) {
  return std::string(error.what()) + "\nhint: " + error.hint();
}

struct Shape {
  IoMode io;
  std::uint64_t buffer_bytes;
  std::uint32_t buffers;
};
constexpr Shape kShapes[] = {
    {IoMode::automatic, 4 << 20, 3}, {IoMode::automatic, 1 << 20, 2},
    {IoMode::automatic, 4096, 1},    {IoMode::automatic, 12288, 4},
    {IoMode::buffered, 1 << 20, 3},  {IoMode::buffered, 256 << 10, 1},
    {IoMode::buffered, 20480, 2},
};
OutputFile::Options options_of(const Shape& shape) {
  return {.io = shape.io, .buffer_bytes = shape.buffer_bytes, .buffers = shape.buffers};
}

// Files are only made where there is none.
std::string fresh(const std::string& path) {
  std::filesystem::remove(path);
  return path;
}

}  // namespace

TEST_CASE("output file: bytes and hashes are the same for any buffers, mode and size of appends") {
  TempDir dir;
  const std::string content = random_text(3'300'001);
  for (const Shape& shape : kShapes) {
    for (const std::size_t piece : {997UL, 110'000UL, 5'000'000UL}) {
      CAPTURE(shape.buffer_bytes);
      CAPTURE(piece);
      OutputFile file(fresh(dir / "out"), options_of(shape));
      append_in_pieces(file, content, piece);
      const FileSummary summary = file.finish();
      CHECK(summary.bytes == content.size());
      CHECK(summary.blocks == blocks_of(content));
      CHECK(summary.hash == hash_of_blocks(summary.blocks));
      CHECK((read_text(dir / "out") == content));
    }
  }
}

TEST_CASE("output file: its length is exact, on the grid of O_DIRECT and off it") {
  TempDir dir;
  for (const std::size_t bytes :
       {0UL, 1UL, 4095UL, 4096UL, 4097UL, 8191UL, 8192UL, 8193UL, 1048576UL, 1048577UL}) {
    CAPTURE(bytes);
    const std::string content = random_text(bytes);
    OutputFile file(fresh(dir / "out"), {.buffer_bytes = 8192, .buffers = 2});
    file.append(as_bytes(content));
    CHECK(file.size() == bytes);
    const FileSummary summary = file.finish();
    CHECK(summary.blocks == blocks_of(content));
    CHECK((read_text(dir / "out") == content));
  }
}

TEST_CASE("output file: the hash of a file is the hash of its blocks' canonical bytes") {
  const std::string content = random_text(2 * kBlockBytes + 5);
  std::string list;
  for (const Hash128& block : blocks_of(content)) list += as_text(block.bytes());

  CHECK(hash_of_blocks(blocks_of(content)) == xxh3_128(as_bytes(list)));
  CHECK(hash_of_blocks({}) == xxh3_128({}));
}

TEST_CASE("output file: patches, zeros and reads back at random places agree with a plain string") {
  TempDir dir;
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (const Shape& shape : kShapes) {
    CAPTURE(shape.buffer_bytes);
    OutputFile file(fresh(dir / "out"), options_of(shape));
    std::string model;
    for (std::size_t step = 0; step < 60; ++step) {
      const std::string bytes = random_text(random() % 150'000, static_cast<unsigned>(random()));
      file.append(as_bytes(bytes));
      file.append_zeros(step % 7);
      model += bytes + std::string(step % 7, '\0');
      const std::size_t at = random() % model.size();
      const std::size_t length = random() % std::min<std::size_t>(model.size() - at + 1, 9000);
      if (step % 5 == 0) {
        file.patch(at, as_bytes(std::string(length, 'p')));
        model.replace(at, length, std::string(length, 'p'));
      }
      std::string back(length, '?');
      file.read_back(at, std::as_writable_bytes(std::span(back)));
      REQUIRE((back == model.substr(at, length)));
    }
    const FileSummary summary = file.finish();
    CHECK(summary.blocks == blocks_of(model));
    CHECK((read_text(dir / "out") == model));
  }
}

TEST_CASE(
    "output file: a header patched far behind the end leaves what a file written in order has") {
  TempDir dir;
  std::string content = random_text(9'000'000);
  OutputFile file(fresh(dir / "out"), {.buffer_bytes = 1 << 20, .buffers = 3});
  file.append(as_bytes(content));
  content.replace(10, 6, "header");
  file.patch(10, as_bytes("header"));

  const FileSummary summary = file.finish();
  CHECK(summary.blocks == blocks_of(content));
  CHECK((read_text(dir / "out") == content));
}

TEST_CASE(
    "output file: a patch or a read beyond what was appended is a bug, whatever the numbers") {
  TempDir dir;
  OutputFile file(fresh(dir / "out"), {});
  file.append(as_bytes("12345"));
  std::array<std::byte, 2> two{};

  CHECK(error_of([&] { file.patch(4, as_bytes("ab")); }).code() == Code::bug);
  CHECK(error_of([&] { file.patch(~0ULL, as_bytes("ab")); }).code() == Code::bug);
  CHECK(error_of([&] { file.read_back(6, std::span<std::byte>()); }).code() == Code::bug);
  CHECK(error_of([&] { file.read_back(4, two); }).code() == Code::bug);
}

TEST_CASE("output file: nothing may be asked of it once it is finished") {
  TempDir dir;
  OutputFile file(fresh(dir / "out"), {});
  (void)file.finish();

  CHECK(error_of([&] { file.append(as_bytes("x")); }).code() == Code::bug);
  CHECK(error_of([&] { file.patch(0, {}); }).code() == Code::bug);
  CHECK(error_of([&] { (void)file.finish(); }).code() == Code::bug);
}

TEST_CASE("output file: buffers that O_DIRECT could not write are a bug") {
  TempDir dir;
  CHECK(error_of([&] { OutputFile(fresh(dir / "out"), {.buffer_bytes = 5000}); }).code() ==
        Code::bug);
  CHECK(error_of([&] { OutputFile(fresh(dir / "out"), {.buffer_bytes = 0}); }).code() == Code::bug);
  CHECK(error_of([&] { OutputFile(fresh(dir / "out"), {.buffers = 0}); }).code() == Code::bug);
}

TEST_CASE("output file: whatever has its name already is an error, and is not opened") {
  TempDir dir;
  write_file(dir / "file", "precious");
  std::filesystem::create_symlink("file", dir / "link");
  std::filesystem::create_symlink("nowhere", dir / "loose link");
  std::filesystem::create_hard_link(dir / "file", dir / "hard link");
  for (const char* name : {"file", "link", "loose link", "hard link"}) {
    CAPTURE(name);
    const Error error = error_of([&] { OutputFile(dir / name, {}); });
    CHECK(error.code() == Code::io);
    CHECK(error.cause() == "File exists");
  }
  CHECK(read_text(dir / "file") == "precious");
  CHECK(!std::filesystem::exists(dir / "nowhere"));
}

TEST_CASE("output file: one in a missing folder is an io error with path and cause") {
  const Error error = error_of([] { OutputFile("/no/such/folder/out", {}); });
  CHECK(error.code() == Code::io);
  CHECK(std::string(error.what()) ==
        "/no/such/folder/out: cannot be created: No such file or directory");
}

TEST_CASE(
    "output file: where O_DIRECT is refused, direct says so and automatic goes through the cache") {
  const auto open_null = [] { return ::open("/dev/null", O_RDWR | O_CLOEXEC); };
  const Error error =
      error_of([&] { OutputFile(open_null(), "/dev/null", {.io = IoMode::direct}); });
  CHECK(error.code() == Code::io);
  CHECK(error.hint() == "use --io auto or --io buffered");

  OutputFile file(open_null(), "/dev/null", {.io = IoMode::automatic, .buffer_bytes = 4096});
  CHECK_NOTHROW(file.append(as_bytes(random_text(100'000))));
}

TEST_CASE("output file: a limit reached in the background stops it with place, size and cause") {
  TempDir dir;
  for (const IoMode io : {IoMode::automatic, IoMode::buffered}) {
    const std::string text = text_from_child([&] {
      limit_file_size(16'384);
      OutputFile file(fresh(dir / "out"), {.io = io, .buffer_bytes = 8192, .buffers = 3});
      return describe_error(error_of([&] {
        append_in_pieces(file, random_text(100'000), 1000);
        (void)file.finish();
      }));
    });
    CHECK(text ==
          (dir / "out") +
              ": byte 16384: 8192 more bytes exceed the file size limit: File too large\n"
              "hint: raise the limit (ulimit -f); where shards are written, --shard-size makes "
              "smaller files");
  }
}

TEST_CASE("output file: a limit off the grid of O_DIRECT is reached to the byte") {
  TempDir dir;
  const std::string text = text_from_child([&] {
    limit_file_size(10'001);
    OutputFile file(fresh(dir / "out"), {.buffer_bytes = 8192, .buffers = 3});
    append_in_pieces(file, random_text(100'000), 1000);
    return std::string("no error");
  });
  CAPTURE(text);
  CHECK(text.find("out: byte 10001: 6383 more bytes exceed the file size limit") !=
        std::string::npos);
}

TEST_CASE("output file: a full file system names the bytes wanted and free, and what to do") {
  TempDir dir;
  const std::string text = text_from_child([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("small", dir.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      return "cannot mount";
    }
    OutputFile file(fresh(dir / "out"), {.buffer_bytes = 65'536, .buffers = 3});
    return describe_error(error_of([&] { append_in_pieces(file, random_text(5'000'000), 1000); }));
  });
  if (text == "cannot mount") {
    MESSAGE("not checked: no right to mount");
    return;
  }
  CHECK(text ==
        (dir / "out") +
            ": byte 1048576: no space for 65536 bytes, only 0 available: No space left on device\n"
            "hint: free some space on this file system or choose another one, then run the same "
            "command again");
}

TEST_CASE("output file: after a failed write nothing more is taken, and no summary given") {
  TempDir dir;
  const std::string text = text_from_child([&] {
    limit_file_size(4096);
    OutputFile file(fresh(dir / "out"), {.buffer_bytes = 4096, .buffers = 1});
    (void)error_of([&] { file.append(as_bytes(random_text(20'000))); });
    return std::string(error_of([&] { (void)file.finish(); }).what());
  });
  CHECK(text.find("used after it was finished or a write failed") != std::string::npos);
}

TEST_CASE("output file: the same file comes out where io_uring is refused") {
  TempDir dir;
  const std::string content = random_text(3'000'000);
  for (const int refused : {SYS_io_uring_setup, SYS_io_uring_enter}) {
    const std::string text = text_from_child([&] {
      if (!forbid(refused)) return std::string("no seccomp");
      OutputFile file(fresh(dir / "out"), {.buffer_bytes = 65'536, .buffers = 3});
      append_in_pieces(file, content, 10'000);
      return file.finish().hash.hex();
    });
    CHECK(text == hash_of_blocks(blocks_of(content)).hex());
    CHECK((read_text(dir / "out") == content));
  }
}

TEST_CASE("output file: it survives the thread that began its writes") {
  TempDir dir;
  const std::string content = random_text(3'000'000);
  OutputFile file(fresh(dir / "out"), {.buffer_bytes = 65'536, .buffers = 8});
  std::thread([&] { append_in_pieces(file, content, 10'000); }).join();
  file.append(as_bytes("end"));

  CHECK(file.finish().blocks == blocks_of(content + "end"));
  CHECK((read_text(dir / "out") == content + "end"));
}

TEST_CASE("output file: one that is dropped with writes under way waits for them") {
  TempDir dir;
  for (int round = 0; round < 20; ++round) {
    OutputFile file(fresh(dir / "out"), {.buffer_bytes = 1 << 20, .buffers = 3});
    file.append_zeros(2 << 20);
  }
  CHECK(std::filesystem::file_size(dir / "out") == 2 << 20);
}
