#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/encoding/transform.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;

SourceInfo info_of_pairs() {
  SourceInfo info;
  info.schema.fields = {{.name = "image", .kind = Kind::bytes},
                        {.name = "label", .kind = Kind::integer},
                        {.name = "seg_mask", .kind = Kind::bytes}};
  info.image_fields = {0, 2};
  return info;
}

std::shared_ptr<const Transform> resolved(const ImageWords& words,
                                          const SourceInfo& info = info_of_pairs()) {
  std::vector<std::string> notes;
  return resolve_transform(parse_image_words(words), info, "in", notes);
}

std::string refusal(const ImageWords& words, const SourceInfo& info = info_of_pairs()) {
  const Error error = error_of([&] { (void)resolved(words, info); });
  CHECK(error.code() == Code::usage);
  return error.what();
}

}  // namespace

TEST_CASE("transform: a rule holds for all fields of images, or for the one that it names") {
  const auto both =
      resolved({.resize = {"shorter=8", "seg_mask:exact=4x3"}, .quality = {"image:7"}});
  REQUIRE(both->fields().size() == 2);
  const ImageRule& image = both->fields()[0].rule;
  CHECK(image.resize == Resize::shorter);
  CHECK(image.width == 8);
  CHECK(image.quality == 7);
  CHECK_FALSE(image.is_mask);
  const ImageRule& mask = both->fields()[1].rule;
  CHECK(mask.resize == Resize::exact);
  CHECK(mask.height == 3);
  CHECK(mask.is_mask);
  const auto one = resolved({.resize = {"image:shorter=8"}});
  REQUIRE(one->fields().size() == 1);
  CHECK(one->fields()[0].field == 0);
}

TEST_CASE("transform: a mask is known by its name, unless --masks says otherwise") {
  std::vector<std::string> notes;
  ImageWords words{.resize = {"shorter=8"}};
  const auto by_name = resolve_transform(parse_image_words(words), info_of_pairs(), "in", notes);
  CHECK(by_name->fields()[1].rule.is_mask);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].starts_with("'seg_mask' is taken for a mask"));
  words.masks = "image";
  notes.clear();
  const auto by_option = resolve_transform(parse_image_words(words), info_of_pairs(), "in", notes);
  CHECK(by_option->fields()[0].rule.is_mask);
  CHECK_FALSE(by_option->fields()[1].rule.is_mask);
  CHECK(notes.empty());
}

TEST_CASE("transform: --masks alone does not say which fields hold images") {
  SourceInfo info = info_of_pairs();
  info.image_fields.clear();
  const ImageWords words{.resize = {"shorter=8"}, .masks = "seg_mask"};
  CHECK(refusal(words, info).find("nothing says which fields") != std::string::npos);
  const auto named =
      resolved({.resize = {"shorter=8", "image:shorter=8"}, .masks = "seg_mask"}, info);
  CHECK(named->fields().size() == 2);
}

TEST_CASE("transform: an image in another field is refused where the work is for all fields") {
  SourceInfo info = info_of_pairs();
  info.schema.fields[2].name = "depth";
  info.image_fields = {0};
  const Sample image{.key = "1", .values = {Bytes(), std::int64_t{0}, as_bytes("P5 1 1 255\n7")}};
  const Sample text{.key = "1", .values = {Bytes(), std::int64_t{0}, as_bytes("a cat")}};
  const auto refusal_of = [&](const ImageWords& words, const Sample& sample) {
    return error_of([&] {
             resolved(words, info)->refuse_other_images(sample);
             throw Error(Code::bug, "it is taken");
           })
        .code();
  };
  CHECK(refusal_of({.resize = {"shorter=8"}}, image) == Code::bad_content);
  CHECK(refusal_of({.resize = {"shorter=8"}}, text) == Code::bug);
  CHECK(refusal_of({.resize = {"image:shorter=8"}}, image) == Code::bug);
  CHECK(refusal_of({.resize = {"shorter=8"}, .masks = "depth"}, image) == Code::bug);
  CHECK(refusal_of({.apply_rotation = true}, image) == Code::bad_content);
}

TEST_CASE("transform: raw pixels are tensors, those of a mask have no channels") {
  const auto raw = resolved({.resize = {"exact=9x7"}, .encode = {"raw"}});
  const std::vector<Field>& fields = raw->output().fields;
  CHECK(fields[0].kind == Kind::tensor);
  CHECK(fields[0].shape == std::vector<std::uint64_t>{7, 9, 3});
  CHECK(fields[1].kind == Kind::integer);
  CHECK(fields[2].shape == std::vector<std::uint64_t>{7, 9});
  CHECK(raw->fixed_bytes() == 7 * 9 * 4);
  CHECK(raw->input() == info_of_pairs().schema);
}

TEST_CASE("transform: fields that there are not, or that hold no images, are refused by name") {
  CHECK(refusal({.resize = {"other:shorter=8"}}).find("'other', which is not a field") !=
        std::string::npos);
  CHECK(refusal({.resize = {"label:shorter=8"}}).find("of kind integer") != std::string::npos);
  CHECK(refusal({.encode = {"seg_mask:jpeg"}}).find("is a mask") != std::string::npos);
  SourceInfo unknown = info_of_pairs();
  unknown.image_fields.clear();
  CHECK(refusal({.resize = {"shorter=8"}}, unknown).find("nothing says which") !=
        std::string::npos);
  SourceInfo numbers;
  numbers.schema.fields = {{.name = "y", .kind = Kind::integer}};
  CHECK(refusal({.resize = {"shorter=8"}}, numbers).find("holds none") != std::string::npos);
}

TEST_CASE("transform: what a manifest records makes the same rules again") {
  const std::vector<ImageWords> all = {
      {.resize = {"shorter=8"}},
      {.resize = {"longer=8"}, .quality = {"33"}, .only_larger = true},
      {.resize = {"fit=8x9"}, .crop = {"image:center=3x2"}, .encode = {"image:jpeg"}},
      {.resize = {"exact=9x7"}, .encode = {"raw"}, .masks = "image"},
      {.strip_metadata = true},
      {.encode = {"png"}, .apply_rotation = true},
      // The quality shapes nothing in the other field.
      {.resize = {"image:shorter=5"}, .quality = {"40"}, .strip_metadata = true}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    const auto made = resolved(all[i]);
    const std::vector<ManifestTransform> recorded = made->recorded();
    std::vector<std::string> notes;
    const auto again = resolve_transform(image_request_of(recorded), info_of_pairs(), "in", notes);
    REQUIRE(again->fields().size() == made->fields().size());
    for (std::size_t field = 0; field < made->fields().size(); ++field)
      CHECK(again->fields()[field].rule == made->fields()[field].rule);
    CHECK(again->recorded() == recorded);
    CHECK(other_codec(recorded) == std::nullopt);
  }
}

TEST_CASE("transform: another codec, and a rule that shale does not write, are told apart") {
  std::vector<ManifestTransform> recorded = resolved({.resize = {"image:shorter=8"}})->recorded();
  CHECK(text_of(recorded[0]) == "image: resize shorter=8, quality 90");
  recorded[0].codec = "libjpeg-turbo 0.1";
  CHECK(other_codec(recorded).value().starts_with("libjpeg-turbo 0.1, here "));
  recorded[0].parameters[0].second = "shorter=none";
  CHECK(error_of([&] { (void)image_request_of(recorded); }).code() == Code::damaged);
  recorded[0].parameters.clear();
  CHECK(error_of([&] { (void)image_request_of(recorded); }).code() == Code::damaged);
}

}  // namespace shale
