#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "shale/numbers/casts.hpp"

namespace shale {
namespace {

const Field kNumbers{.name = "x", .kind = Kind::tensor, .dtype = DType::parse("<i2"), .shape = {2}};

TEST_CASE("casts: one type after the other, counted with the first that does not fit") {
  const FieldNumbersCast cast(0, kNumbers, {DType::parse("|u1"), DType::parse("<f4")});
  CHECK(cast.after().dtype == DType::parse("<f4"));
  CHECK(cast.bytes_after(4) == 8);
  CHECK(cast.bytes_before(8) == 4);
  const std::vector<std::int16_t> numbers = {7, 300};
  std::vector<float> made(2);
  UnfitNumbers unfit;
  cast.run(std::as_bytes(std::span(numbers)), std::as_writable_bytes(std::span(made)), unfit);
  CHECK(made == std::vector<float>{7, 255});
  CHECK(unfit.count == 1);
  CHECK(unfit.first == "300 in field 'x', which uint8 cannot hold");
}

TEST_CASE("casts: rows of a run are told apart, over all of its fields") {
  const FieldNumbersCast cast(0, kNumbers, {DType::parse("|u1")});
  const std::vector<std::int16_t> first = {1, 2, 3, 4, -1, 300}, second = {1, 256, 1, 1, 1, -9};
  std::vector<std::uint8_t> made(6);
  UnfitNumbers unfit;
  for (const auto& numbers : {first, second})
    cast.run_rows(std::as_bytes(std::span(numbers)), 3, std::as_writable_bytes(std::span(made)),
                  unfit);
  CHECK(unfit.count == 4);
  CHECK(unfit.rows == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 1}, {2, 3}});
  CHECK(unfit.first.starts_with("256 in field"));
}

TEST_CASE("casts: of a field that is not cast there is none") {
  const Casts casts({.fields = {kNumbers, kNumbers}},
                    {FieldNumbersCast(1, kNumbers, {DType::parse("|u1")})});
  CHECK(casts.of(0) == nullptr);
  CHECK(casts.of(1)->field() == 1);
}

}  // namespace
}  // namespace shale
