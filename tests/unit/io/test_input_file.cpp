#include <filesystem>
#include <fstream>
#include <numeric>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/io/aligned_buffer.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/safe_descriptor.hpp"

#include "child_process.hpp"
#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

namespace {

std::string read_at(const InputFile& file, std::uint64_t offset, std::size_t wanted) {
  std::string text(wanted, '?');
  text.resize(file.read_some(offset, std::as_writable_bytes(std::span(text))));
  return text;
}

/// One line of /proc/self/io: "syscr" counts reading system calls, "rchar" the bytes they brought.
std::uint64_t io_count(const std::string& wanted) {
  std::ifstream in("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (in >> name >> value) {
    if (name == wanted + ":") return value;
  }
  return 0;
}

std::string numbered(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += std::to_string(text.size()) + ' ';
  text.resize(bytes);
  return text;
}

constexpr std::uint64_t kPages = 64;

// Not tmpfs, which has nothing but the page cache.
const std::filesystem::path kDisk = "/var/tmp";

std::string pages_of_text() {
  std::string text(kPages * kDirectAlignment, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 % 251);
  return text;
}

// On the disk, so that its pages can be dropped.
void write_synced(const std::string& path, std::string_view content) {
  write_file(path, content);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::fsync(descriptor) == 0);
  ::close(descriptor);
}

// Which pages of the file the page cache holds.
std::vector<bool> cached_pages(const InputFile& file) {
  const std::size_t pages = (file.size() + kDirectAlignment - 1) / kDirectAlignment;
  void* memory = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  REQUIRE(memory != MAP_FAILED);
  std::vector<unsigned char> found(pages);
  const int result = ::mincore(memory, file.size(), found.data());
  ::munmap(memory, file.size());
  REQUIRE(result == 0);
  std::vector<bool> cached(pages);
  for (std::size_t i = 0; i < pages; ++i) cached[i] = (found[i] & 1) != 0;
  return cached;
}

std::uint64_t count(const std::vector<bool>& pages) {
  return std::accumulate(pages.begin(), pages.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("input file: its name is the last part of its path") {
  TempDir dir;
  write_file(dir / "deep/x.bin", "");
  CHECK(InputFile(dir / "deep/x.bin").name() == "x.bin");
}

TEST_CASE("input file: reads where it is told, less only at the end") {
  TempDir dir;
  write_file(dir / "f", "0123456789");
  const InputFile file(dir / "f");

  CHECK(file.size() == 10);
  CHECK(read_at(file, 3, 4) == "3456");
  CHECK(read_at(file, 8, 4) == "89");
  CHECK(read_at(file, 10, 4).empty());
  CHECK(read_at(file, 0, 0).empty());
}

TEST_CASE("input file: an offset that no file can have is past the end, not a failed system call") {
  TempDir dir;
  write_file(dir / "f", "0123456789");
  const InputFile file(dir / "f");
  std::array<std::byte, 4> into{};

  CHECK(read_at(file, ~0ULL, 4).empty());
  CHECK(read_at(file, (1ULL << 63) - 1, 4).empty());
  CHECK(error_of([&] { file.read_exact(1ULL << 63, into); }).code() == Code::damaged);
}

TEST_CASE("input file: an exact read past the end is damage, with both numbers") {
  TempDir dir;
  write_file(dir / "f", "0123456789");
  const InputFile file(dir / "f");
  std::array<std::byte, 4> into{};
  const Error error = error_of([&] { file.read_exact(7, into); });

  CHECK(error.code() == Code::damaged);
  CHECK(std::string(error.what()) ==
        (dir / "f") + ": byte 7: 4 bytes expected here, but the file ends after 3");
}

TEST_CASE("input file: a file that shrank after it was opened is damage") {
  TempDir dir;
  write_file(dir / "f", std::string(10'000, 'x'));
  const InputFile file(dir / "f");
  std::filesystem::resize_file(dir / "f", 100);
  std::vector<std::byte> into(10'000);

  CHECK(error_of([&] { file.read_exact(0, into); }).code() == Code::damaged);
  CHECK(error_of([&] { (void)WindowReader(file).view(0, 200); }).code() == Code::damaged);
}

TEST_CASE("input file: what cannot be read as a file is told apart, and a FIFO does not hang") {
  TempDir dir;
  write_file(dir / "f", "x");
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);

  CHECK(error_of([&] { InputFile(dir / "missing"); }).code() == Code::not_found);
  CHECK(error_of([&] { InputFile(dir / "f/below"); }).code() == Code::not_found);
  CHECK(error_of([&] { InputFile(dir.path()); }).message() == "is a folder, not a regular file");
  CHECK(error_of([&] { InputFile(dir / "fifo"); }).code() == Code::unsupported);
}

TEST_CASE("read_file: gives all bytes, also of a file whose size the system does not tell") {
  TempDir dir;
  write_file(dir / "f", "0123456789");

  CHECK(as_text(read_file(dir / "f", 10)) == "0123456789");
  CHECK(as_text(read_file("/proc/self/comm", 100)).size() > 1);
}

TEST_CASE("read_file: a file above the limit is refused with both numbers") {
  TempDir dir;
  write_file(dir / "f", "0123456789");

  CHECK(error_of([&] { (void)read_file(dir / "f", 9); }).message() ==
        "10 bytes, more than the limit of 9");
  CHECK(error_of([&] { (void)read_file("/proc/self/comm", 1); }).code() == Code::limit);
}

TEST_CASE("input file: prefetching and sparse reading change nothing that is read") {
  TempDir dir;
  const std::string content = numbered(100'000);
  write_file(dir / "f", content);
  const InputFile file(dir / "f");
  const SparseReading sparse(file);
  for (const std::uint64_t offset : {0ULL, 99'999ULL, 100'000ULL, ~0ULL}) {
    for (const std::uint64_t length : {0ULL, 1ULL, 200'000ULL, ~0ULL})
      file.prefetch(offset, length);
  }
  std::string bytes(content.size(), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(bytes)));

  CHECK((bytes == content));
}

TEST_CASE("window reader: gives the bytes of any view, in any order") {
  TempDir dir;
  const std::string content = numbered(100'000);
  write_file(dir / "f", content);
  const InputFile file(dir / "f");
  WindowReader window(file, 8192);
  std::uint64_t random = 1;
  for (int step = 0; step < 5000; ++step) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::size_t at = (random >> 33) % content.size();
    const std::size_t length =
        (random >> 20) % std::min<std::size_t>(20'000, content.size() - at + 1);
    REQUIRE((as_text(window.view(at, length)) == content.substr(at, length)));
    REQUIRE((as_text(window.view(at + length, 0)).empty()));
  }
}

TEST_CASE("window reader: small views in sequence cost one read a window") {
  TempDir dir;
  write_file(dir / "f", std::string(1 << 20, 'x'));
  const InputFile file(dir / "f");
  WindowReader window(file, 256 * 1024);
  const std::uint64_t before = io_count("syscr");
  for (std::uint64_t at = 0; at + 24 <= file.size(); at += 24) (void)window.view(at, 24);

  CHECK(io_count("syscr") - before <
        12);  // 4 windows, the first small one, and reading /proc/self/io itself
}

TEST_CASE("window reader: views far apart read little more than themselves") {
  TempDir dir;
  write_file(dir / "f", std::string(8 << 20, 'x'));
  const InputFile file(dir / "f");
  WindowReader window(file);
  const std::uint64_t before = io_count("rchar");
  for (std::uint64_t at = 0; at < file.size(); at += 1 << 20) (void)window.view(at, 12);

  CHECK(io_count("rchar") - before < 8 * 8192);
}

TEST_CASE("window reader: a length out of a hostile header is refused before memory is taken") {
  TempDir dir;
  write_file(dir / "f", "0123456789");
  const InputFile file(dir / "f");
  WindowReader window(file);

  for (const std::uint64_t length : {11ULL, 1ULL << 60, ~0ULL}) {
    CHECK(error_of([&] { (void)window.view(0, length); }).code() == Code::damaged);
  }
  CHECK(error_of([&] { (void)window.view(~0ULL, 2); }).code() == Code::damaged);
  CHECK(as_text(window.view(8, 2)) == "89");
}

TEST_CASE("input file: what is dropped leaves the page cache, whole pages around the range") {
  const TempDir dir(kDisk);
  write_synced(dir / "f", pages_of_text());
  const InputFile file(dir / "f");
  // As a loader reads: page by page. What was just written may lie in larger pieces, and a piece is
  // given back whole or not at all.
  file.drop_cache(0, file.size());
  file.expect_random_reads();
  std::array<std::byte, kDirectAlignment> page{};
  for (std::uint64_t i = 0; i < kPages; ++i) file.read_exact(i * kDirectAlignment, page);
  if (count(cached_pages(file)) != kPages) return;  // a file system without a page cache of its own
  file.drop_cache(10 * kDirectAlignment + 17, 3 * kDirectAlignment);

  std::vector<bool> expected(kPages, true);
  for (std::size_t page = 10; page < 14; ++page) expected[page] = false;
  CHECK((cached_pages(file) == expected));
  file.drop_cache(0, file.size());
  CHECK(count(cached_pages(file)) == 0);
}

TEST_CASE("input file: dropping what is not there changes nothing that is read") {
  const TempDir dir(kDisk);
  const std::string content = pages_of_text();
  write_synced(dir / "f", content);
  const InputFile file(dir / "f");
  for (const std::uint64_t offset : {0ULL, 1ULL, 1ULL << 40}) file.drop_cache(offset, 100);
  std::string bytes(content.size(), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(bytes)));

  CHECK((bytes == content));
}

TEST_CASE("input file: direct reads give the same bytes and leave the page cache empty") {
  const TempDir dir(kDisk);
  const std::string content = pages_of_text() + "tail";
  write_synced(dir / "f", content);
  const InputFile file(dir / "f");
  file.drop_cache(0, file.size() + kDirectAlignment);
  if (!file.go_direct()) return;  // refused by this file system
  AlignedBuffer buffer;
  const std::span<std::byte> memory = buffer.require((kPages + 1) * kDirectAlignment);

  CHECK(file.read_some(0, memory) == content.size());
  CHECK((as_text(Bytes(memory).first(content.size())) == content));
  CHECK(file.read_some(kPages * kDirectAlignment, memory) == 4);
  CHECK(as_text(Bytes(memory).first(4)) == "tail");
  CHECK(count(cached_pages(file)) == 0);
}

TEST_CASE("input file: never has the number of stdin, stdout or stderr, where one is closed") {
  TempDir dir;
  write_file(dir / "f", "good");
  const std::string text = text_from_child([&] {
    ::close(STDIN_FILENO);
    ::close(STDERR_FILENO);
    const InputFile file(dir / "f");
    return read_at(file, 0, 4) + (file.descriptor() > STDERR_FILENO ? " above" : " among them");
  });
  CHECK(text == "good above");
}

TEST_CASE(
    "input file: the path of a descriptor is that of its file, and none for what has no name") {
  TempDir dir;
  write_file(dir / "f", "good");
  const InputFile file(dir / "f");
  CHECK(path_of(file.descriptor()) == std::filesystem::canonical(dir / "f").string());
  const std::string below = text_from_child([&] {
    if (::chdir(dir.path().c_str()) != 0) return std::string("no chdir");
    return path_of(file.descriptor());
  });
  CHECK(below == "f");
  std::filesystem::remove(dir / "f");
  CHECK(path_of(file.descriptor()).empty());
  CHECK(path_of(-1).empty());
}
