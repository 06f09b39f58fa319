#include <doctest/doctest.h>

#include "formats/webdataset/webdataset_names.hpp"
#include "formats/webdataset/webdataset_writer.hpp"

namespace shale {
namespace {

TEST_CASE("webdataset names: keys are safe, and without the suffix of an image") {
  struct Row {
    std::string_view key, name, whole;
  };
  constexpr Row kRows[] = {
      {"n01/x.JPEG", "n01/x", "n01/x%2EJPEG"},
      {"a.b/c.d", "a.b/c%2Ed", "a.b/c%2Ed"},
      {"x", "x", "x"},
      {"", "%", "%"},
      {".jpg", "%2Ejpg", "%2Ejpg"},
      {"..", "%2E%2E", "%2E%2E"},
      {"../x", "%2E%2E/x", "%2E%2E/x"},
      {"/a", "%2Fa", "%2Fa"},
      {"a//b", "a%2F/b", "a%2F/b"},
      {"a/", "a%2F", "a%2F"},
      {"__x__", "%5F_x__", "%5F_x__"},
      {"a/__x/__y", "a/%5F_x/%5F_y", "a/%5F_x/%5F_y"},
      {"a b%", "a%20b%25", "a%20b%25"},
      {"\xc3\xa4", "%C3%A4", "%C3%A4"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.key);
    CHECK(member_key(row.key, false) == row.name);
    CHECK(member_key(row.key, true) == row.whole);
  }
}

TEST_CASE("webdataset names: names are divided as webdataset divides them") {
  const auto split = [](std::string_view path) {
    const std::optional<MemberName> name = split_member_name(path);
    return name ? std::string(name->key) + " " + std::string(name->extension) : "none";
  };
  CHECK(split("a.b/c.seg.png") == "a.b/c seg.png");
  CHECK(split("dir/._a.jpg") == "dir/ _a.jpg");
  CHECK(split("d/x..jpg") == "d/x .jpg");
  CHECK(split("x/noext") == "none");
  CHECK(split("__meta__/x.jpg") == "none");
}

TEST_CASE("webdataset names: usual fields have the usual extensions") {
  const Schema schema{.fields = {{"image", Kind::bytes},
                                 {"label", Kind::integer},
                                 {"text", Kind::text},
                                 {"seg", Kind::bytes},
                                 {"mp4", Kind::bytes},
                                 {"score", Kind::real},
                                 {"frames", Kind::list}}};
  const MemberNames names(schema);
  CHECK(names[0].extension_of("png") == "png");
  CHECK(names[1].extension_of("") == "cls");
  CHECK(names[2].extension_of("") == "txt");
  CHECK(names[3].extension_of("png") == "seg.png");
  CHECK(names[4].extension_of("") == "mp4");
  CHECK(names[5].extension_of("") == "score.json");
  CHECK(names[6].extension_of_element(7, "jpg") == "frames.00007.jpg");
  for (const std::string_view known : {"png", "cls", "txt", "seg.bin", "mp4", "score.json"})
    CHECK(names.find(known).has_value());
  for (const std::string_view unknown : {"empty", "seg.txt", "seg", "frames.7.jpg", "score.cls"})
    CHECK_FALSE(names.find(unknown).has_value());
}

TEST_CASE(
    "webdataset names: a field that is called like an extension takes it from the usual one") {
  const MemberNames names({.fields = {{"image", Kind::bytes},
                                      {"jpg", Kind::bytes},
                                      {"label", Kind::integer},
                                      {"cls", Kind::integer}}});
  CHECK(names[0].extension_of("jpg") == "image.jpg");
  CHECK(names[1].extension_of("") == "jpg");
  CHECK(names[2].extension_of("") == "label.cls");
  CHECK(names[3].extension_of("") == "cls");
}

TEST_CASE("webdataset writer: reals are as Python's json reads them") {
  CHECK(real_text(1) == "1.0");
  CHECK(real_text(0.1) == "0.1");
  CHECK(real_text(-0.0) == "-0.0");
  CHECK(real_text(1e22) == "1e+22");
}

}  // namespace
}  // namespace shale
