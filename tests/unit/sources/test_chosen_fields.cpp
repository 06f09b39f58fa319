#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/folders/folder_source.hpp"
#include "shale/sources/chosen_fields.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

class Boxes {
 public:
  // Images with an optional caption, and boxes that differ in number.
  Boxes() {
    std::filesystem::create_directories(dir_ / "in/a");
    for (const char* name : {"1.jpg", "2.jpg"}) write_file(dir_ / "in/a" + "/" + name, "an image");
    write_file(
        dir_ / "in/a/metadata.jsonl",
        "{\"file_name\": \"1.jpg\", \"ids\": [1, 2, 3], \"boxes\": [[1.5, 2, 3, 4]]}\n"
        "{\"file_name\": \"2.jpg\", \"ids\": [7], \"boxes\": [[1, 2, 3, 4], [5, 6, 7, 8]]}\n");
  }

  [[nodiscard]] std::unique_ptr<Source> chosen(const FieldChoice& choice) const {
    FolderRequest request;
    request.root = dir_ / "in";
    request.scratch_folder = dir_.path();
    request.files.pairs.policy = PairPolicy::automatic;
    return make_chosen_fields(open_folder(request), choice, request.root);
  }

 private:
  TempDir dir_;
};

TEST_CASE("chosen fields: what is not taken is not read, the rest moves to its place") {
  const Boxes boxes;
  const auto source = boxes.chosen({.only = {"boxes", "label"}, .renamed = {{"label", "y"}}});

  REQUIRE(source->info().schema.fields.size() == 2);
  CHECK(source->info().schema.fields[1].name == "y");
  CHECK(source->info().fields == "boxes,label:y");
  CHECK(source->info().image_fields.empty());
  const auto sample = source->next(1);
  REQUIRE(sample.has_value());
  CHECK(sample->files.empty());
  CHECK(sample->cells.size() == 2);
  REQUIRE(sample->known.size() == 1);
  CHECK(sample->known[0].field == 0);
  CHECK(sample->sides == std::vector<std::uint64_t>{1, 4});
  CHECK(source->next(1)->sides == std::vector<std::uint64_t>{2, 4});
}

TEST_CASE("chosen fields: without labels there are no classes, and the sides of others go too") {
  const Boxes boxes;
  const auto source = boxes.chosen({.dropped = {"label", "boxes"}});

  CHECK(source->info().classes.empty());
  CHECK(source->info().labels == Hash128{});
  const auto sample = source->next(1);
  CHECK(sample->files.size() == 1);
  CHECK(sample->sides.size() == 1);
  CHECK(sample->sides[0] == 3);
}

TEST_CASE("chosen fields: a sample lacks nothing where the partner that is missing is not taken") {
  TempDir dir;
  std::filesystem::create_directories(dir / "masks/a");
  std::filesystem::create_directories(dir / "in/a");
  for (const char* name : {"in/a/1.jpg", "in/a/2.jpg", "masks/a/1.png"})
    write_file(dir / name, "an image");
  FolderRequest request;
  request.root = dir / "in";
  request.scratch_folder = dir.path();
  request.folders = {{.field = "image", .root = dir / "in"},
                     {.field = "mask", .root = dir / "masks"}};
  const auto lacking = [&](const FieldChoice& choice) {
    const auto source = make_chosen_fields(open_folder(request), choice, request.root);
    REQUIRE(source->next(1)->lacks.empty());
    return source->next(1)->lacks;
  };

  CHECK(lacking({.dropped = {"mask"}}).empty());
  CHECK_FALSE(lacking({.dropped = {"label"}}).empty());
}

TEST_CASE("chosen fields: a second choice keeps the names of the first input") {
  const Boxes boxes;
  auto source = boxes.chosen({.renamed = {{"image", "a"}}});
  source = make_chosen_fields(std::move(source), {.only = {"a"}, .renamed = {{"a", "b"}}}, "in");
  CHECK(source->info().fields == "image:b");
  CHECK(source->info().image_fields == std::vector<std::size_t>{0});
}

}  // namespace
}  // namespace shale
