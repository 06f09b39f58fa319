#include <doctest/doctest.h>

#include "shale/format/options.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

constexpr OptionSpec kSpecs[] = {
    {.name = "alignment",
     .summary = "bytes",
     .default_value = "4096",
     .minimum = 1,
     .maximum = 65'536},
    {.name = "layout", .summary = "rows or columns", .default_value = "columns"},
};

}  // namespace

TEST_CASE("options: the default stands until a value is set, and the last one wins") {
  OptionSet options(kSpecs);
  CHECK(options.number("alignment") == 4096);
  CHECK(options.text("layout") == "columns");
  options.set("alignment", "512");
  options.set("alignment", "64");
  options.set("layout", "");
  CHECK(options.number("alignment") == 64);
  CHECK(options.text("layout") == "");
}

TEST_CASE("options: both ends of a range are in it, what is beyond is refused with all numbers") {
  OptionSet options(kSpecs);
  for (const char* inside : {"1", "65536"}) {
    options.set("alignment", inside);
    CHECK_NOTHROW((void)options.number("alignment"));
  }
  for (const char* outside : {"0", "65537"}) {
    options.set("alignment", outside);
    const Error error = error_of([&] { (void)options.number("alignment"); });
    CHECK(error.code() == Code::usage);
    CHECK(error.message() ==
          "option 'alignment' is " + std::string(outside) + ", expected 1 to 65536");
  }
}

TEST_CASE("options: what is not a number is refused by name") {
  OptionSet options(kSpecs);
  options.set("alignment", "4k");
  CHECK(error_of([&] { (void)options.number("alignment"); }).message() ==
        "alignment: '4k' is not a whole number");
}

TEST_CASE("options: an unknown name is the user's error when set, a bug when asked for") {
  OptionSet options(kSpecs);
  const Error error = error_of([&] { options.set("align", "1"); });
  CHECK(error.code() == Code::usage);
  CHECK(error.message() == "the format has no option 'align'");
  CHECK(error.hint() == "this format has: alignment layout");
  CHECK(error_of([&] { (void)options.text("align"); }).code() == Code::bug);
  CHECK(error_of([&] { (void)options.number("align"); }).code() == Code::bug);
  CHECK(error_of([] { OptionSet().set("x", "1"); }).hint() == "this format has no options");
}

}  // namespace shale
