#include <string>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/partners/pair_patterns.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;

}  // namespace

TEST_CASE("pair patterns: of names, partners lie in the folder of the sample") {
  const PairPatterns patterns("image=*.jpg,mask=*_mask.png:bytes?");
  CHECK(patterns.which("cats", "1.jpg") == 0);
  CHECK(patterns.which("cats", "1_mask.png") == 1);
  CHECK_FALSE(patterns.which("cats", "1.txt"));
  CHECK_FALSE(patterns.which("cats", ".jpg"));
  CHECK(patterns.star_of(0, "cats", "1.jpg") == "cats/1");
  CHECK(patterns.star_of(1, "cats", "1_mask.png") == "cats/1");
  CHECK(patterns.partner_of(1, "cats/1.jpg") == "cats/1_mask.png");
  CHECK(patterns.partner_of(1, "1.jpg") == "1_mask.png");
}

TEST_CASE("pair patterns: with slashes, the star stands for folders, too") {
  const PairPatterns patterns("image=a/*_i.png,mask=b/*_m.png");
  CHECK(patterns.have_folders());
  CHECK(patterns.which("a/x/y", "1_i.png") == 0);
  CHECK_FALSE(patterns.which("c/x", "1_i.png"));
  CHECK(patterns.star_of(0, "a/x/y", "1_i.png") == "x/y/1");
  CHECK(patterns.partner_of(1, "a/x/y/1_i.png") == "b/x/y/1_m.png");
}

TEST_CASE("pair patterns: a file of two patterns is of the longer one") {
  const PairPatterns patterns("image=*.png,mask=*_mask.png");
  CHECK(patterns.which("", "1_mask.png") == 1);
  CHECK(patterns.which("", "1.png") == 0);
}

TEST_CASE("pair patterns: what the option does not take is refused") {
  CHECK(pairs_option("image=*.jpg,mask=*_mask.png") == "image=*.jpg,mask=*_mask.png");
  for (const char* const text : {"image=*.jpg", "image=*.jpg,mask=1.png", "image=*.jpg,image=*.png",
                                 "image=*.jpg,*.png", "a=x/*.jpg,b=*.png", "a=*.jpg,key=*.png"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)pairs_option(text); }).code() == Code::usage);
  }
}

}  // namespace shale
