#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/archives/tar_stream.hpp"
#include "shale/base/error.hpp"

#include "tests/support/tar_builder.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// A stream of what a tar builder has made, in a folder that has its scratch files.
struct StreamInFolder {
  explicit StreamInFolder(const std::string& archive) { write_file(dir / "x.tar", archive); }

  [[nodiscard]] std::unique_ptr<Source> open(const std::string& folder = "",
                                             std::uint64_t memory = 64 << 20) const {
    const FolderRequest request{.root = dir / "x.tar",
                                .scratch_folder = dir.path(),
                                .memory_bytes = memory / 8,
                                .all_memory_bytes = memory};
    const StreamPath path{dir / "x.tar", folder};
    return open_tar_stream(path, open_stream(path, nullptr, memory, [] {}), request);
  }

  TempDir dir;
};

std::vector<std::string> streamed_keys(Source& source) {
  std::vector<std::string> keys;
  while (const auto sample = source.next(1)) keys.push_back(sample->key);
  return keys;
}

TEST_CASE("tar stream: samples come with their payload, in the order of the archive") {
  const StreamInFolder stream(TarBuilder()
                                  .add("7/b.png", "second class")
                                  .add("./0/a.png", "first class")
                                  .add("0/a.txt", "no image")
                                  .whole());
  const auto source = stream.open();
  CHECK(source->info().is_stream);
  CHECK(source->info().manifest.samples == 0);
  const auto first = source->next(1);
  REQUIRE(first);
  CHECK(first->key == "7/b.png");
  CHECK(first->known.at(0).bytes == "second class");
  CHECK(first->cells.at(1).integer == 7);
  CHECK(streamed_keys(*source) == std::vector<std::string>{"0/a.png"});
  CHECK(source->info().manifest.samples == 2);
  CHECK(source->info().manifest.bytes == 23);
  CHECK(source->info().ignored == 1);
}

TEST_CASE("tar stream: what was skipped is read as far as what was given, and has the same hash") {
  TarBuilder archive;
  for (int i = 0; i < 9; ++i)
    archive.add(fmt::format("{}/{}.png", i % 2, i), std::string(700, static_cast<char>('a' + i)));
  const StreamInFolder stream(archive.whole());
  const auto read = stream.open(), skipped = stream.open();
  std::optional<StreamPoint> behind;
  for (int i = 0; i < 5; ++i) behind = read->next(1)->behind;
  skipped->skip(5);
  REQUIRE(behind);
  CHECK(behind == read->point());
  CHECK(behind == skipped->point());
  CHECK(streamed_keys(*read) == streamed_keys(*skipped));
  CHECK(read->info().manifest.fingerprint == skipped->info().manifest.fingerprint);
  CHECK(error_of([&] { stream.open()->skip(10); }).code() == Code::mismatch);
}

TEST_CASE(
    "tar stream: only the folder that is named is read, and one that is not there is refused") {
  const StreamInFolder stream(TarBuilder()
                                  .add("top/train/3/a.png", "a")
                                  .add("top/val/4/b.png", "b")
                                  .add("5/c.png", "c")
                                  .whole());
  CHECK(streamed_keys(*stream.open("top/train")) == std::vector<std::string>{"3/a.png"});
  CHECK(streamed_keys(*stream.open("top/val/")) == std::vector<std::string>{"4/b.png"});
  CHECK(error_of([&] { (void)streamed_keys(*stream.open("top/test")); }).code() == Code::not_found);
  CHECK(error_of([&] { (void)stream.open("../top"); }).code() == Code::bad_content);
}

TEST_CASE("tar stream: an archive in it is a class, as it comes") {
  const std::string inner = TarBuilder().add("a.png", "a").add("b.png", "b").whole();
  const StreamInFolder stream(
      TarBuilder().add("8.tar", inner).add("9.tar", inner).add("8.txt", "").whole());
  CHECK(streamed_keys(*stream.open()) ==
        std::vector<std::string>{"8/a.png", "8/b.png", "9/a.png", "9/b.png"});
}

TEST_CASE("tar stream: what follows the first block of zeros is zero, too, to the last byte") {
  const std::string archive = TarBuilder().add("0/a.png", "a").whole();
  const std::string begin = archive.substr(0, 1024) + std::string(512, '\0');
  CHECK(streamed_keys(*StreamInFolder(begin + std::string(100, '\0')).open()).size() == 1);
  for (const std::size_t zeros : {0U, 100U, 512U, 1000U, 200'000U}) {
    for (const std::size_t odd : {1U, 100U, 512U, 70'000U}) {
      CAPTURE(zeros);
      CAPTURE(odd);
      const StreamInFolder stream(begin + std::string(zeros, '\0') + std::string(odd, 'x') +
                                  std::string(300'000, '\0'));
      const Error error = error_of([&] { (void)streamed_keys(*stream.open()); });
      CHECK(error.code() == Code::damaged);
      CHECK(error.offset() == begin.size() + zeros);
    }
  }
  const StreamInFolder cut(begin + "x"), twice(begin + archive);
  CHECK(error_of([&] { (void)streamed_keys(*cut.open()); }).code() == Code::damaged);
  CHECK(error_of([&] { (void)streamed_keys(*twice.open()); }).code() == Code::unsupported);
}

TEST_CASE("tar stream: a sample for which memory has no room is refused before it is read") {
  const StreamInFolder stream(TarBuilder().add("0/a.png", "a", '0', "", 20 << 20).whole());
  const Error error = error_of([&] { (void)stream.open("", 32 << 20)->next(1); });
  CHECK(error.code() == Code::limit);
  CHECK(error.sample()->key == "0/a.png");
  CHECK(error_of([&] { (void)stream.open("", 256 << 20)->next(1); }).code() == Code::damaged);
}

TEST_CASE("tar stream: paths lead to streams or elsewhere") {
  const TempDir dir;
  write_file(dir / "x.tar", TarBuilder().add("0/a.png", "a").whole());
  CHECK_FALSE(stream_of_path(dir / "x.tar"));
  CHECK_FALSE(stream_of_path(dir / "nowhere/x"));
  CHECK_FALSE(stream_of_path(dir.path()));
  write_file(dir / "x.tgz", "\x1f\x8b\x08");
  CHECK(stream_of_path(dir / "x.tgz")->file == dir / "x.tgz");
  CHECK(stream_of_path(dir / "x.tgz/a/b")->folder == "a/b");
  write_file(dir / "x.gz", "\x1f\x8b\x08");
  CHECK_FALSE(stream_of_path(dir / "x.gz"));
  CHECK(is_stdin(*stream_of_path("-")));
  CHECK(stream_of_path("-/a")->folder == "a");
}

}  // namespace
}  // namespace shale
