#include <string_view>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/manifest/naming.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("sought files: without suffixes they are images") {
  const SoughtFiles images;
  CHECK(images.are_images());
  CHECK(images.takes("a.JPG"));
  CHECK_FALSE(images.takes("a.mp4"));
  CHECK(images.field() == "image");
  CHECK(images.text().empty());
  CHECK(images.counted(1) == "1 image");
}

TEST_CASE("sought files: suffixes are taken in any case and spelling, and images are left out") {
  const SoughtFiles files(".WAV,mp4,mp4");
  CHECK(files.text() == "mp4,wav");
  CHECK(files.takes("a.Mp4"));
  CHECK(files.takes(".wav"));
  CHECK_FALSE(files.takes("a.jpg"));
  CHECK_FALSE(files.takes("amp4"));
  CHECK_FALSE(files.takes("mp4"));
  CHECK(files.counted(2) == "2 files");
  CHECK(files.described() == "files with the suffix .mp4 or .wav");
  CHECK(SoughtFiles("tar.gz").takes("a.tar.gz"));
}

TEST_CASE("sought files: the field is named after what all suffixes hold") {
  struct Row {
    std::string_view suffixes, field;
  };
  constexpr Row kRows[] = {{"mp4,webm", "video"},
                           {"flac,wav", "audio"},
                           {"mp4,wav", "data"},
                           {"bin", "data"},
                           {"jpg", "data"}};
  for (const Row& row : kRows) {
    CAPTURE(row.suffixes);
    CHECK(SoughtFiles(row.suffixes).field() == row.field);
  }
}

TEST_CASE("sought files: a suffix that no file can have is refused by name") {
  for (const std::string_view text : {"", ",", "mp4,", "a/b", "*.mp4", "mp4 wav", "."}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)suffixes_option(text); }).code() == Code::usage);
  }
}

TEST_CASE("odd classes: folders named like splits, or like images and annotations, are told of") {
  const auto notes = [](const std::vector<std::string>& classes,
                        ClassOrder order = ClassOrder::bytewise) {
    return notes_on_classes(classes, {classes, "x", 1 << 20}, order);
  };
  CHECK(notes({"cats", "dogs", "train"}).empty());
  CHECK(notes({"cats", "train2017", "val2017"}).size() == 1);
  CHECK(notes({"images", "masks"}).size() == 1);
  CHECK(notes({"images", "pictures"}).empty());
  CHECK(notes({"0", "1", "2"}).empty());
  CHECK(notes({"0", "10", "2"}).size() == 1);
  CHECK(notes({"0", "10", "2"}, ClassOrder::natural).empty());
  CHECK(notes({"0", "10", "a"}).empty());
}

TEST_CASE("odd classes: names of splits are known") {
  CHECK(is_split_name("val"));
  CHECK_FALSE(is_split_name("cats"));
}

}  // namespace
}  // namespace shale
