#include <doctest/doctest.h>

#include "shale/convert.hpp"
#include "shale/dataset.hpp"

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
