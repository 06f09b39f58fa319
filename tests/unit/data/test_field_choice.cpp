#include <doctest/doctest.h>

#include "shale/data/field_choice.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

Schema three_fields() {
  return {.fields = {{.name = "image", .kind = Kind::bytes},
                     {.name = "label", .kind = Kind::integer},
                     {.name = "caption", .kind = Kind::text}}};
}

std::vector<std::string> names_of(const FieldChoice& choice) {
  return new_names(choice, three_fields(), taken_fields(choice, three_fields()));
}

std::string refusal_of(const FieldChoice& choice) {
  const Error error = error_of([&] { (void)names_of(choice); });
  CHECK(error.code() == Code::usage);
  return error.message();
}

std::vector<FieldName> parse_renames(std::string_view text) {
  FieldChoice choice;
  take_renames(choice, text);
  CHECK(choice.renames());
  return choice.renamed;
}

TEST_CASE("parse renames: pairs, with a backslash before what belongs to a name") {
  CHECK(parse_renames("image:images,label:image/class/label") ==
        std::vector<FieldName>{{"image", "images"}, {"label", "image/class/label"}});
  CHECK(parse_renames("a\\,b:c\\:d") == std::vector<FieldName>{{"a,b", "c:d"}});
}

TEST_CASE("parse renames: another form is refused") {
  for (const char* text : {"", "a", "a:", ":b", "a:b,", "a:b:c", ",a:b", "a:b,c"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)parse_renames(text); }).code() == Code::usage);
  }
}

TEST_CASE("standard names: those of TensorFlow's image sets, where no other field has them") {
  const Schema schema = {.fields = {{.name = "image_encoded", .kind = Kind::bytes},
                                    {.name = "image_class_label", .kind = Kind::integer},
                                    {.name = "label", .kind = Kind::integer}}};
  FieldChoice choice;
  take_renames(choice, "standard");
  CHECK(new_names(choice, schema, {0, 1, 2}) ==
        std::vector<std::string>{"image", "image_class_label", "label"});
  CHECK(refusal_of(choice) ==
        "--rename names 'standard', which gives none of its fields another name");
}

TEST_CASE("parse casts: fields and types of numbers") {
  const std::vector<FieldCast> casts = parse_casts("x:float32,y\\,z:np.uint16,b:bool,i:int64");
  CHECK(casts == std::vector<FieldCast>{{"x", DType::parse("<f4")},
                                        {"y,z", DType::parse("<u2")},
                                        {"b", DType::parse("|b1")},
                                        {"i", DType::parse("<i8")}});
  for (const char* text : {"", "x", "x:", "x:float32,x:int8", "x:text", "x:complex256",
                           "x:float8_e8m0fnu", "x:float32 (3)", "x:int8?"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)parse_casts(text); }).code() == Code::usage);
  }
}

TEST_CASE("field choice: only numbers are cast, and only to another type") {
  const FieldChoice choice{.casts = parse_casts("label:int64")};
  const FieldChoice senseless{.casts = parse_casts("label:complex64")};
  CHECK(error_of([&] { (void)casts_of(senseless, three_fields()); }).code() == Code::usage);
  CHECK(casts_of(choice, three_fields()) == std::vector<std::vector<DType>>(3));
  CHECK(casts_of({.casts = parse_casts("label:int8")}, three_fields())[1].size() == 1);
  for (const char* text : {"mask:int8", "image:int8", "caption:int8"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)casts_of({.casts = parse_casts(text)}, three_fields()); }).code() ==
          Code::usage);
  }
}

TEST_CASE("field choice: a recorded one casts what was not cast before") {
  const std::string recorded = "image,label:y:int16:float32,caption";
  const FieldChoice all = recorded_choice(recorded, three_fields(), "");
  CHECK(all.casts ==
        std::vector<FieldCast>{{"y", DType::parse("<i2")}, {"y", DType::parse("<f4")}});
  CHECK(all.is_lossy);
  const FieldChoice rest =
      recorded_choice(recorded, three_fields(), "image,label:label:int16,caption");
  CHECK(rest.casts == std::vector<FieldCast>{{"y", DType::parse("<f4")}});
}

TEST_CASE("field choice: fields are taken in the order in which they are named, and renamed") {
  CHECK(names_of({.only = {"label", "image"}}) == std::vector<std::string>{"label", "image"});
  CHECK(names_of({.dropped = {"label"}}) == std::vector<std::string>{"image", "caption"});
  CHECK(names_of({.dropped = {"caption"}, .renamed = {{"image", "label"}, {"label", "image"}}}) ==
        std::vector<std::string>{"label", "image"});
}

TEST_CASE("field choice: names that there are not, or that clash, are refused") {
  CHECK(refusal_of({.only = {"mask"}}) ==
        "--fields names 'mask', which is not a field of the input");
  CHECK(refusal_of({.only = {"label", "label"}}) == "--fields names 'label', which is named twice");
  CHECK(refusal_of({.dropped = {"mask"}}) ==
        "--drop names 'mask', which is not a field of the input");
  CHECK(refusal_of({.dropped = {"image", "label", "caption"}}) ==
        "--drop names 'caption', which is the last of its fields");
  CHECK(refusal_of({.dropped = {"label"}, .renamed = {{"label", "y"}}}) ==
        "--rename names 'label', which is not taken");
  CHECK(refusal_of({.renamed = {{"image", "label"}}}) ==
        "--rename: two fields would have the name 'label'");
  CHECK(refusal_of({.renamed = {{"image", "a"}, {"image", "b"}}}) ==
        "--rename names 'image', which is renamed twice");
  CHECK(refusal_of({.renamed = {{"image", "a.b"}}}) == "--rename: field name 'a.b' contains '.'");
}

TEST_CASE("field choice: what a manifest records of it comes back, whatever is in the names") {
  const std::vector<FieldName> names = {
      {"a,b", "c:d"}, {"label", "label"}, {"x\\", "y"}, {"n", "n", {"int8", "float32"}}};
  CHECK(field_names_of(field_names_text(names)) == names);
  CHECK(field_names_text({{"image", "images"}, {"label", "label"}, {"x", "x", {"float32"}}}) ==
        "image:images,label,x:x:float32");
}

TEST_CASE("field choice: a recorded one is applied to an input that has the new names already") {
  Schema renamed = three_fields();
  renamed.fields[0].name = "images";
  const FieldChoice choice =
      recorded_choice("image:pictures,label", renamed, "image:images,label,caption");
  CHECK(choice.only == std::vector<std::string>{"images", "label"});
  CHECK(choice.renamed == std::vector<FieldName>{{"images", "pictures"}});
}

TEST_CASE("field choice: what is asked for is not left out, but samples that are missing are") {
  LeftOutList left_out;
  for (const char* kind : {"partner", "picture", "feature"}) left_out.add({kind, kind, "a_reason"});

  CHECK(without_dropped({.only = {"image"}}, left_out).entries.size() == 1);
  CHECK(without_dropped({.only = {"image"}}, left_out).entries[0].kind == "picture");
  CHECK(without_dropped({.dropped = {"feature"}}, left_out).count() == 2);
  CHECK(without_dropped({.renamed = {{"image", "images"}}}, left_out).count() == 3);
}

TEST_CASE("label of: the field of labels is known by its name in the input") {
  Schema schema = three_fields();
  CHECK(label_of(schema, "") == 1);
  schema.fields[1].name = "y";
  CHECK(label_of(schema, "image,label:y,caption") == 1);
  CHECK_FALSE(label_of(schema, ""));
}

}  // namespace
}  // namespace shale
