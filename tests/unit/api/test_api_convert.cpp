#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "shale/convert.hpp"
#include "shale/dataset.hpp"
#include "shale/verify.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/api/written_samples.hpp"

namespace shale {
namespace {

using namespace test;

// One pixel.
constexpr std::string_view kGif(
    "GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\4\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2\x44\1\0;",
    43);

TEST_CASE("convert: samples are the same in another format, and its second call does nothing") {
  const TempDir dir;
  const WrittenSet written = write_samples(dir / "from", 25);
  const ConvertOptions options{.inputs = {dir / "from"},
                               .to = {.path = dir / "to", .format = "lmdb", .verify = true}};
  const ConvertResult result = convert(options);
  CHECK(result.set.format == "lmdb");
  CHECK(result.set.samples == 25);
  CHECK(result.set.ordered_digest == written.ordered_digest);
  CHECK(result.findings == 0);
  CHECK_FALSE(result.was_complete);
  CHECK(Dataset(dir / "to").read(3).key == "key/3");
  CHECK(convert(options).was_complete);
}

TEST_CASE("convert: options mean what they mean to the program") {
  const TempDir dir;
  const WrittenSet written = write_samples(dir / "from", 25);
  const ConvertResult shuffled =
      convert({.inputs = {dir / "from"},
               .to = {.path = dir / "shuffled", .format = "record", .shard_samples = 5},
               .fields = {"label"},
               .shuffle = true,
               .seed = 3});
  CHECK(shuffled.set.shards == 5);
  CHECK(shuffled.set.content_digest != written.content_digest);
  const Dataset set(dir / "shuffled");
  CHECK(set.fields().size() == 1);
  CHECK(set.key(0) != "key/0");
  (void)write_samples(dir / "more", 30);
  write_file(dir / "chosen.txt", "key\nkey/27\n");
  const ConvertResult appended = convert({.inputs = {dir / "more"},
                                          .to = {.path = dir / "from"},
                                          .append = true,
                                          .select = dir / "chosen.txt"});
  CHECK(appended.set.samples == 26);
  CHECK(Dataset(dir / "from").key(25) == "key/27");
}

TEST_CASE("convert: samples are chosen by class, and by what the lines of a list are") {
  const TempDir dir;
  for (const char* name : {"cats/1.png", "cats/2.png", "dogs/3.png", ".old/4.png"})
    write_file(dir / (std::string("photos/") + name), kGif);
  write_file(dir / "chosen.txt", "1\n");
  const ConvertOptions options{.inputs = {dir / "photos"},
                               .to = {.path = dir / "set", .format = "record"}};
  ConvertOptions chosen = options;
  chosen.classes = {"cats"};
  chosen.hidden = "skip";
  CHECK(convert(chosen).set.samples == 2);
  chosen.to.path = dir / "row";
  chosen.select = dir / "chosen.txt";
  chosen.keys = "rows";
  CHECK(convert(chosen).set.samples == 1);
  CHECK(Dataset(dir / "row").key(0) == "cats/2.png");
  ConvertOptions all = options;
  all.to = {.path = dir / "all.tfrecord", .with_index = true, .io = "buffered"};
  all.hidden = "keep";
  CHECK(convert(all).set.samples == 4);
  CHECK(Dataset(dir / "all.tfrecord").size() == 4);
  ConvertOptions part = options;
  part.hidden = "skip";
  part.to.path = dir / "parts";
  part.part = "1/3";
  CHECK(convert(part).set.samples == 1);
  CHECK(Dataset(dir / "parts/part-00001-of-00003").key(0) == "cats/2.png");
}

TEST_CASE("convert and verify: numbers without a header, behind a few bytes") {
  const TempDir dir;
  write_file(dir / "x.bin", "head" + std::string(60, 'n'));
  const ConvertResult result = convert({.inputs = {dir / "x.bin"},
                                        .to = {.path = dir / "x.npy"},
                                        .raw = "uint16,3",
                                        .raw_offset = 4});
  CHECK(result.set.samples == 10);
  const auto verdict = [&](const char* raw, std::uint64_t offset) {
    return verify({.dataset = dir / "x.npy",
                   .against = {dir / "x.bin"},
                   .raw = raw,
                   .raw_offset = offset})
        .comparison.verdict;
  };
  CHECK(verdict("uint16,3", 4) == SourceVerdict::same);
  CHECK(error_of([&] { (void)verdict("int16,3", 4); }).code() == Code::usage);
  CHECK(error_of([&] { (void)verdict("", 4); }).code() == Code::usage);
  CHECK(error_of([&] { (void)verify({.dataset = dir / "x.npy", .raw = "uint16"}); }).code() ==
        Code::usage);
}

TEST_CASE("convert: words that an option does not take, or that do nothing, are refused") {
  const TempDir dir;
  (void)write_samples(dir / "from", 5);
  struct Row {
    std::string_view message;
    void (*set)(ConvertOptions& options);
  };
  constexpr Row kRows[] = {
      {"--keys 'row' is not one of", [](ConvertOptions& options) { options.keys = "row"; }},
      {"--keys", [](ConvertOptions& options) { options.keys = "rows"; }},
      {"--pairs 'yes'", [](ConvertOptions& options) { options.pairs = "yes"; }},
      {"--hidden 'no'", [](ConvertOptions& options) { options.hidden = "no"; }},
      {"--group 'video'", [](ConvertOptions& options) { options.group = "video"; }},
      {"--parse json", [](ConvertOptions& options) { options.parse = "json"; }},
      {"--new-classes 'yes'", [](ConvertOptions& options) { options.new_classes = "yes"; }},
      {"--new-classes", [](ConvertOptions& options) { options.new_classes = "append"; }},
      {"--split-by 'name'", [](ConvertOptions& options) { options.split_by = "name"; }},
      {"--split-by", [](ConvertOptions& options) { options.split_by = "suffix"; }},
      {"layout", [](ConvertOptions& options) { options.layout = "mine"; }},
      {"--compress 'gzip'", [](ConvertOptions& options) { options.compress = "gzip"; }},
      {"--compress", [](ConvertOptions& options) { options.compress = "deflate"; }},
      {"--with-index", [](ConvertOptions& options) { options.to.with_index = true; }},
      {"--io 'fast'", [](ConvertOptions& options) { options.to.io = "fast"; }},
      {"--part-offset", [](ConvertOptions& options) { options.part_offset = 3; }},
      {"--part", [](ConvertOptions& options) { options.part = "3/3"; }},
      {"--key-column", [](ConvertOptions& options) { options.key_column = "file"; }},
      {"--raw: 'uint15'", [](ConvertOptions& options) { options.raw = "uint15"; }},
      {"--raw-offset", [](ConvertOptions& options) { options.raw_offset = 4; }},
      {"--seed", [](ConvertOptions& options) { options.seed = 3; }},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.message);
    ConvertOptions options{.inputs = {dir / "from"},
                           .to = {.path = dir / "to", .format = "record"}};
    row.set(options);
    const Error error = error_of([&] { (void)convert(options); });
    CHECK(error.code() == Code::usage);
    CHECK(std::string_view(error.what()).find(row.message) != std::string_view::npos);
  }
}

TEST_CASE("convert: bad samples are left out, kept, or an error") {
  const TempDir dir;
  write_file(dir / "photos/cats/1.jpg", "not an image");
  write_file(dir / "photos/cats/2.png", kGif);
  ConvertOptions options{.inputs = {dir / "photos"},
                         .to = {.path = dir / "set", .format = "record"}};
  const ConvertResult result = convert(options);
  CHECK(result.set.samples == 1);
  CHECK(result.skipped == 1);
  options.to.path = dir / "kept";
  options.on_error = OnError::keep;
  CHECK(convert(options).set.samples == 2);
  options.to.path = dir / "failed";
  options.on_error = OnError::fail;
  CHECK(error_of([&] { (void)convert(options); }).code() == Code::bad_content);
}

TEST_CASE("convert: whoever called it hears of the progress, and can stop it") {
  const TempDir dir;
  (void)write_samples(dir / "from", 25);
  ConvertOptions options{.inputs = {dir / "from"}, .to = {.path = dir / "to", .format = "lmdb"}};
  CHECK(error_of([&] { (void)convert(options, {.should_stop = [] { return true; }}); }).code() ==
        Code::interrupted);
  std::uint64_t last = 0;
  (void)convert(options, {.progress = [&](std::uint64_t done, std::uint64_t, std::uint64_t) {
                  last = done;
                }});
  CHECK(last == 25);
}

}  // namespace
}  // namespace shale
