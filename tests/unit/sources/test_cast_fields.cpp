#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/folders/folder_source.hpp"
#include "shale/sources/cast_fields.hpp"
#include "shale/sources/chosen_fields.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// Images with whole numbers, reals that one lacks, and lists of integers that differ in number.
class Numbered {
 public:
  Numbered() {
    std::filesystem::create_directories(dir_ / "in/a");
    for (const char* name : {"1.jpg", "2.jpg", "3.jpg"})
      write_file(dir_ / "in/a" + "/" + name, "an image");
    write_file(dir_ / "in/a/metadata.jsonl",
               "{\"file_name\": \"1.jpg\", \"n\": 7, \"x\": 0.5, \"ids\": [1, 2, 3]}\n"
               "{\"file_name\": \"2.jpg\", \"n\": 300, \"x\": null, \"ids\": [256]}\n"
               "{\"file_name\": \"3.jpg\", \"n\": -1, \"x\": 2.0, \"ids\": []}\n");
  }

  [[nodiscard]] std::unique_ptr<Source> cast(const char* words, bool is_lossy = false,
                                             const CastWork& work = {}) const {
    FolderRequest request;
    request.root = dir_ / "in";
    request.scratch_folder = dir_.path();
    request.files.pairs.policy = PairPolicy::automatic;
    return make_chosen_fields(open_folder(request),
                              {.casts = parse_casts(words), .is_lossy = is_lossy}, request.root,
                              work);
  }

 private:
  TempDir dir_;
};

TEST_CASE("cast fields: numbers in cells and lists get their types, absent ones stay absent") {
  const Numbered numbered;
  const auto source = numbered.cast("n:int16,x:float32,ids:int32");
  const Schema& schema = source->info().schema;
  CHECK(schema.fields[*schema.find("n")].dtype.descr() == "<i2");
  CHECK(schema.fields[*schema.find("ids")].is_ragged());
  CHECK(source->info().fields.ends_with("n:n:int16,x:x:float32,ids:ids:int32"));

  const auto first = source->next(1);
  CHECK(first->cells[*schema.find("x")].real == 0.5);
  REQUIRE(first->known.size() == 1);
  CHECK(first->known[0].bytes.size() == 3 * sizeof(std::int32_t));
  CHECK(first->cells[*schema.find("ids")].place.length == 12);
  const auto second = source->next(1);
  CHECK(second->cells[*schema.find("n")].integer == 300);
  CHECK(second->cells[*schema.find("x")].lacks_number);
}

TEST_CASE("cast fields: a number becomes a tensor where its type asks for it") {
  const Numbered numbered;
  const auto source = numbered.cast("n:float16,x:float16");
  const Schema& schema = source->info().schema;
  CHECK(schema.fields[*schema.find("n")].kind == Kind::tensor);
  CHECK(schema.fields[*schema.find("x")].is_optional);
  CHECK(source->next(1)->known.size() == 3);
  const auto second = source->next(1);
  CHECK(second->known.size() == 2);
  CHECK(second->cells[*schema.find("x")].place.offset == kMissing);
}

TEST_CASE("cast fields: numbers that do not fit are counted to the end, and refused") {
  const Numbered numbered;
  const auto source = numbered.cast("n:uint8,ids:uint8");
  REQUIRE(source->next(1).has_value());
  const Error error = error_of([&] { (void)source->next(1); });
  CHECK(error.code() == Code::bad_content);
  CHECK(error.sample()->key == "a/2.jpg");
  CHECK(error.message() ==
        "3 numbers do not fit the type given by --cast; the first is 300 in field 'n', which uint8 "
        "cannot hold");
}

TEST_CASE("cast fields: of a part only its numbers are counted") {
  const Numbered numbered;
  const auto source = numbered.cast("n:uint8");
  source->narrow(1, 1);
  CHECK(error_of([&] { (void)source->next(1); }).message().starts_with("1 number does not fit"));
}

TEST_CASE("cast fields: what is lossy takes the nearest numbers, and says how many") {
  const Numbered numbered;
  std::string said;
  CastWork work;
  work.say = [&](const std::string& note) { said = note; };
  const auto source = numbered.cast("n:uint8,ids:uint8", true, work);
  const std::size_t n = *source->info().schema.find("n");
  (void)source->next(1);
  CHECK(source->next(1)->cells[n].integer == 255);
  CHECK(source->next(1)->cells[n].integer == 0);
  CHECK_FALSE(source->next(1).has_value());
  CHECK(said.starts_with("3 numbers do not fit the type given by --cast"));
  CHECK(said.ends_with("in sample 'a/2.jpg'; the nearest were taken"));
}

TEST_CASE("cast fields: a value that is larger than the memory is refused") {
  const Numbered numbered;
  CastWork work;
  work.memory_bytes = 16;
  const auto source = numbered.cast("ids:float32", false, work);
  CHECK(error_of([&] { (void)source->next(1); }).code() == Code::limit);
}

}  // namespace
}  // namespace shale
