#include <doctest/doctest.h>

#include "shale/format/options.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

constexpr OptionSpec kSpecs[] = {{.name = "alignment", .default_value = "4096"},
                                 {.name = "layout", .default_value = "columns"}};

}  // namespace

TEST_CASE("options: the default stands until a value is set, and the last one wins") {
  OptionSet options(kSpecs);
  CHECK(options.text("alignment") == "4096");
  CHECK(options.text("layout") == "columns");
  options.set("alignment", "512");
  options.set("alignment", "64");
  options.set("layout", "");
  CHECK(options.text("alignment") == "64");
  CHECK(options.text("layout") == "");
}

TEST_CASE("options: an unknown name is the user's error when set, a bug when asked for") {
  OptionSet options(kSpecs);
  const Error error = error_of([&] { options.set("align", "1"); });
  CHECK(error.code() == Code::usage);
  CHECK(error.message() == "the format has no option 'align'");
  CHECK(error.hint() == "this format has: alignment layout");
  CHECK(error_of([&] { (void)options.text("align"); }).code() == Code::bug);
  CHECK(error_of([] { OptionSet().set("x", "1"); }).hint() == "this format has no options");
}

}  // namespace shale
