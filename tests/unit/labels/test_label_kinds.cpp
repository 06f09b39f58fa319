#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "shale/labels/label_kinds.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

LabelKinds kinds_of(std::initializer_list<std::string_view> labels) {
  LabelKinds kinds;
  std::uint64_t row = 0;
  for (const std::string_view label : labels) kinds.note(++row, label);
  return kinds;
}

TEST_CASE("label kinds: integers are numbers, and numbers of which one is not are real") {
  CHECK(kinds_of({"1", "-2", "03"}).are_numbers());
  CHECK_FALSE(kinds_of({"1", "2.0"}).are_numbers());
  CHECK(kinds_of({"1", "2.0"}).are_reals());
  CHECK(kinds_of({"1e-3", "0,25"}).are_reals());
  CHECK_FALSE(kinds_of({"1", "cat"}).are_reals());
  CHECK_FALSE(kinds_of({"0.5", "99999999999999999999"}).are_reals());
}

TEST_CASE("label kinds: beside real numbers it is the other label that is named") {
  const LabelKinds kinds = kinds_of({"0.5", "nan", "2"});
  const std::string told = error_of([&] { kinds.refuse_mixed("x.csv", "row"); }).message();
  CHECK(told.find("row 2: label 'nan' is not a number, but row 1 has the number 0.5") == 0);
}

TEST_CASE("label kinds: one number that is written in two ways is refused") {
  CHECK_NOTHROW(kinds_of({"1", "2"}).refuse_two_forms("x.csv", "row"));
  CHECK(error_of([] {
          kinds_of({"1", "01"}).refuse_two_forms("x.csv", "row");
        }).code() == Code::bad_content);
}

}  // namespace
}  // namespace shale
