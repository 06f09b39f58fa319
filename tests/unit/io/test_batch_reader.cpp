#include <filesystem>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "shale/base/error.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/input_file.hpp"

#include "child_process.hpp"
#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

namespace {

using Backend = BatchReader::Backend;
constexpr Backend kBackends[] = {Backend::io_uring, Backend::threads};

/// A batch that owns what its requests point to.
class Batch {
 public:
  Batch& file(std::string path, std::size_t wanted) {
    add(std::make_unique<std::string>(std::move(path)), -1, 0, wanted);
    return *this;
  }
  Batch& extent(int descriptor, std::uint64_t offset, std::size_t wanted) {
    add(nullptr, descriptor, offset, wanted);
    return *this;
  }
  /// What came of each request: its bytes as text, or "errno N".
  std::vector<std::string> read_by(BatchReader& reader) {
    std::vector<std::string> texts;
    const std::vector<ReadResult> results = reader.read(requests_);
    for (std::size_t index = 0; index < results.size(); ++index) {
      const ReadResult& result = results[index];
      texts.push_back(result.error != 0 ? "errno " + std::to_string(result.error)
                                        : buffers_[index]->substr(0, result.bytes));
    }
    return texts;
  }

 private:
  void add(std::unique_ptr<std::string> path, int descriptor, std::uint64_t offset,
           std::size_t wanted) {
    buffers_.push_back(std::make_unique<std::string>(wanted, '?'));
    requests_.push_back({path ? path->c_str() : nullptr, descriptor, offset,
                         std::as_writable_bytes(std::span(*buffers_.back()))});
    paths_.push_back(std::move(path));
  }
  std::vector<std::unique_ptr<std::string>> paths_, buffers_;
  std::vector<ReadRequest> requests_;
};

std::string errno_text(int error) { return "errno " + std::to_string(error); }

BatchReader reader_of(Backend backend, std::uint32_t depth = 8) {
  return BatchReader({.depth = depth, .threads = 3, .backend = backend});
}

}  // namespace

TEST_CASE("batch reader: each request gets its bytes or its own error, by both backends") {
  TempDir dir;
  const std::string odd_name = "new\nline \xff";
  write_file(dir / "f", "0123456789");
  write_file(dir / odd_name, "odd");
  write_file(dir / "empty", "");
  const InputFile open_file(dir / "f");
  const int f = open_file.descriptor();
  for (const Backend backend : kBackends) {
    BatchReader reader = reader_of(backend);
    REQUIRE(reader.backend() == backend);
    Batch batch;
    batch.file(dir / "f", 11).file(dir / "f", 10).file(dir / "f", 4).file(dir / "f", 0);
    batch.file(dir / odd_name, 4)
        .file(dir / "empty", 1)
        .file(dir / "missing", 5)
        .file(dir / "f/below", 5);
    batch.file(dir.path(), 5)
        .extent(f, 3, 4)
        .extent(f, 8, 4)
        .extent(f, 10, 4)
        .extent(f, 0, 0)
        .extent(-1, 0, 4);

    CHECK(batch.read_by(reader) ==
          std::vector<std::string>{"0123456789", "0123456789", "0123", "", "odd", "",
                                   errno_text(ENOENT), errno_text(ENOTDIR), errno_text(EISDIR),
                                   "3456", "89", "", "", errno_text(EBADF)});
  }
}

TEST_CASE("batch reader: a batch much longer than the depth comes back whole and in order") {
  TempDir dir;
  for (int number = 0; number < 300; ++number) {
    write_file(dir / std::to_string(number),
               std::string(static_cast<std::size_t>(number * 37), 'x') + std::to_string(number));
  }
  for (const Backend backend : kBackends) {
    for (const std::uint32_t depth : {1U, 3U, 64U, 1000U}) {
      BatchReader reader = reader_of(backend, depth);
      Batch batch;
      std::vector<std::string> expected;
      for (int number = 0; number < 300; ++number) {
        batch.file(dir / std::to_string(number), 20'000);
        expected.push_back(std::string(static_cast<std::size_t>(number * 37), 'x') +
                           std::to_string(number));
      }
      REQUIRE((batch.read_by(reader) == expected));
    }
  }
}

TEST_CASE("batch reader: failures cost no slot, however many there are") {
  TempDir dir;
  write_file(dir / "f", "good");
  for (const Backend backend : kBackends) {
    BatchReader reader = reader_of(backend, 2);
    for (int round = 0; round < 3; ++round) {
      Batch batch;
      for (int index = 0; index < 50; ++index)
        batch.file(dir / "missing", 5).file(dir.path(), 5).extent(-1, 0, 5);
      batch.file(dir / "f", 5);
      const std::vector<std::string> texts = batch.read_by(reader);
      CHECK(texts[147] == errno_text(ENOENT));
      CHECK(texts[148] == errno_text(EISDIR));
      CHECK(texts.back() == "good");
    }
  }
}

TEST_CASE("batch reader: a file that shrank or grew since its size was asked for shows") {
  TempDir dir;
  write_file(dir / "shrank", "12");
  write_file(dir / "grew", "123456789");
  for (const Backend backend : kBackends) {
    BatchReader reader = reader_of(backend);
    CHECK(Batch().file(dir / "shrank", 6).file(dir / "grew", 6).read_by(reader) ==
          std::vector<std::string>{"12", "123456"});
  }
}

TEST_CASE("batch reader: a read that falls short of a file's end is carried on") {
  // Files of /proc are given out a page or so at a time, whatever is asked for.
  const std::string whole = read_text("/proc/kallsyms");
  if (whole.size() < 100'000) return;
  const int descriptor = ::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
  for (const Backend backend : kBackends) {
    BatchReader reader = reader_of(backend);
    const std::vector<std::string> texts =
        Batch().file("/proc/kallsyms", 90'000).extent(descriptor, 5000, 80'000).read_by(reader);
    CHECK((texts[0] == whole.substr(0, 90'000)));
    CHECK((texts[1] == whole.substr(5000, 80'000)));
  }
  ::close(descriptor);
}

TEST_CASE("batch reader: an extent fills its pieces one after the other, to the end of the file") {
  TempDir dir;
  write_file(dir / "f", "0123456789");
  const InputFile file(dir / "f");
  const auto read = [&](BatchReader& reader, std::uint64_t offset, int descriptor) {
    std::string a(3, '?');
    std::string b(2, '?');
    const std::vector<iovec> pieces = {{a.data(), 3}, {a.data(), 0}, {b.data(), 2}};
    const ReadRequest request{.descriptor = descriptor, .offset = offset, .pieces = pieces};
    const ReadResult result = reader.read({&request, 1})[0];
    return fmt::format("{} {} {} {}", a, b, result.bytes, result.error);
  };
  for (const Backend backend : kBackends) {
    BatchReader reader = reader_of(backend);
    CHECK(read(reader, 1, file.descriptor()) == "123 45 5 0");
    CHECK(read(reader, 6, file.descriptor()) == "678 9? 4 0");
    CHECK(read(reader, 8, file.descriptor()) == "89? ?? 2 0");
    CHECK(read(reader, 1, -1) == fmt::format("??? ?? 0 {}", EBADF));
  }
}

TEST_CASE("batch reader: pieces are carried on where a read falls short") {
  // Each read of this file ends after a page or so.
  const std::string whole = read_text("/proc/crypto");
  if (whole.size() < 5'100) return;
  const int descriptor = ::open("/proc/crypto", O_RDONLY | O_CLOEXEC);
  std::string text(whole.size() - 100, '?');
  std::vector<iovec> pieces;
  for (std::size_t at = 0; at < text.size(); at += 900)
    pieces.push_back({&text[at], std::min<std::size_t>(900, text.size() - at)});
  for (const Backend backend : kBackends) {
    BatchReader reader = reader_of(backend);
    text.assign(text.size(), '?');
    const ReadRequest request{.descriptor = descriptor, .offset = 77, .pieces = pieces};
    CHECK(reader.read({&request, 1})[0].bytes == text.size());
    CHECK((text == whole.substr(77, text.size())));
  }
  ::close(descriptor);
}

TEST_CASE("batch reader: an empty batch is an empty answer") {
  for (const Backend backend : kBackends) {
    BatchReader reader = reader_of(backend);
    CHECK(reader.read({}).empty());
  }
}

TEST_CASE("batch reader: may be made in one thread, moved, and used in another") {
  TempDir dir;
  write_file(dir / "f", "good");
  for (const Backend backend : kBackends) {
    BatchReader first = reader_of(backend);
    BatchReader reader = reader_of(backend);
    reader = std::move(first);
    std::vector<std::string> texts;
    std::thread([&] {
      texts = Batch().file(dir / "f", 5).file(dir / "f", 3).read_by(reader);
    }).join();
    CHECK(texts == std::vector<std::string>{"good", "goo"});
  }
}

TEST_CASE("batch reader: relative paths start at the working directory") {
  TempDir dir;
  write_file(dir / "f", "good");
  for (const Backend backend : kBackends) {
    CHECK(text_from_child([&] {
            if (::chdir(dir.path().c_str()) != 0) return std::string("no chdir");
            BatchReader reader = reader_of(backend);
            return Batch().file("f", 5).read_by(reader)[0];
          }) == "good");
  }
}

TEST_CASE("batch reader: where io_uring is refused threads read, unless it was asked for by name") {
  TempDir dir;
  write_file(dir / "f", "good");
  const std::string text = text_from_child([&] {
    if (!forbid(SYS_io_uring_setup)) return std::string("no seccomp");
    BatchReader reader = reader_of(Backend::automatic);
    const std::string read = Batch().file(dir / "f", 5).read_by(reader)[0];
    const Error error = error_of([] { (void)reader_of(Backend::io_uring); });
    return fmt::format("{} {} {} {}", reader.backend() == Backend::threads, read,
                       error.code() == Code::unsupported, error.what());
  });
  CHECK(text == "true good true io_uring is refused by this system: Operation not permitted");
}

TEST_CASE("batch reader: with fewer descriptors allowed than its depth, automatic still reads") {
  TempDir dir;
  write_file(dir / "f", "good");
  CHECK(text_from_child([&] {
          const rlimit few{16, 16};
          ::setrlimit(RLIMIT_NOFILE, &few);
          BatchReader reader = reader_of(Backend::automatic, 64);
          return Batch().file(dir / "f", 5).read_by(reader)[0];
        }) == "good");
}

TEST_CASE("batch reader: where root may have no threads, files are still read") {
  TempDir dir;
  write_file(dir / "f", "good");
  CHECK(text_from_child([&] {
          const rlimit none{0, 0};
          ::setrlimit(RLIMIT_NPROC, &none);
          BatchReader reader = reader_of(Backend::automatic);
          return Batch().file(dir / "f", 5).read_by(reader)[0];
        }) == "good");
}

TEST_CASE("batch reader: where the user may have no more threads, plain calls read") {
  // An ordinary user's limit; root has none.
  TempDir dir;
  write_file(dir / "f", "good");
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  const std::string text = text_from_child([&] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return std::string("good");
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    BatchReader reader = reader_of(Backend::automatic);
    return Batch().file(dir / "f", 5).read_by(reader)[0];
  });
  CHECK(text == "good");
}
