#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/format/key_pattern.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

TEST_CASE("key pattern: numbers, widths, kinds, the count and the first number are read") {
  const KeyPattern pattern = parse_key_pattern(
      "image=image-%09d, label:text=label-%d.txt, share=%%%03d, count=num-samples, from=1");

  CHECK(pattern.fields.size() == 3);
  CHECK(pattern.is_numbered());
  CHECK(pattern.fields[0].key_of(pattern.fields[0].text_of(7)) == "image-000000007");
  CHECK(pattern.fields[1].key_of(pattern.fields[1].text_of(7)) == "label-7.txt");
  CHECK(pattern.fields[1].kind == Kind::text);
  CHECK(pattern.fields[2].key_of(pattern.fields[2].text_of(1234)) == "%1234");
  CHECK(pattern.count_key == "num-samples");
  CHECK(pattern.from == 1);
}

TEST_CASE("key pattern: text that is made of one is read as the same") {
  for (const std::string_view text :
       {"image=image-%09d, label=label-%09d, count=num-samples, from=1", "value=%d",
        "jpg={key}.jpg, cls:integer={key}.cls", "x:real=100%%/%05d", "x:float32={key}",
        "x:int16=a-%d"})
    CHECK(text_of(parse_key_pattern(text)) == text);
}

TEST_CASE("key pattern: a key has what its field captures, or nothing") {
  const KeyField wide = parse_key_pattern("x=a-%03d").fields[0];
  CHECK(wide.captured_in("a-007") == "007");
  CHECK(wide.captured_in("a-1234") == "1234");
  for (const std::string_view key : {"a-7", "a-0007", "a-", "b-007", "a-0x7", "a-007b"})
    CHECK(!wide.captured_in(key));
  const KeyField plain = parse_key_pattern("x=%d").fields[0];
  CHECK(plain.captured_in("0") == "0");
  CHECK(!plain.captured_in("07"));
  CHECK(!plain.captured_in(""));
  CHECK(parse_key_pattern("x={key}.jpg").fields[0].captured_in("a/b.jpg") == "a/b");
}

TEST_CASE("key pattern: of several fields a key is of the one that says more of it") {
  const KeyPattern pattern = parse_key_pattern("image={key}, label={key}.cls");
  CHECK(pattern.field_of("7") == 0U);
  CHECK(pattern.field_of("7.cls") == 1U);
  CHECK(!pattern.field_of(""));
}

TEST_CASE("key pattern: what is none is refused, and how one is written is said") {
  for (const std::string_view text :
       {"", "image", "image=", "=%d", "image=x", "image=%d%d", "image=%d, image=%d", "image=%5d",
        "image=%0d", "image=%x", "image=%099d", "a=%d, b={key}", "a={key}, count=n",
        "a={key}, from=1", "from=1", "a=%d, from=x", "a=%d, count=", "a:jpeg=%d", "a=%d,"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)parse_key_pattern(text); }).code() == Code::usage);
  }
}

TEST_CASE("key pattern: the last number in a key is the sample's, and the rest is the field") {
  const auto name_of_key = [](std::string_view key) {
    const std::optional<KeyField> field = numbered_field_of(key);
    return field ? field->name : "none";
  };
  CHECK(name_of_key("image-000000001") == "image");
  CHECK(name_of_key("00001.jpg") == "jpg");
  CHECK(name_of_key("img2/left-7") == "img2_left");
  CHECK(name_of_key("17") == "value");
  CHECK(name_of_key("num-samples") == "none");
  CHECK(numbered_field_of("image-0012")->digits == 4);
  CHECK(numbered_field_of("image-12")->digits == 0);
}

}  // namespace
}  // namespace shale
