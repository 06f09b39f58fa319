#include <bit>
#include <filesystem>
#include <numeric>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "shale/arrays/number_file.hpp"
#include "shale/wire/npy_header.hpp"

#include "tests/support/npy_numbers.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

std::vector<std::uint64_t> numbers_of(const std::string& content) {
  const TempDir dir;
  write_file(dir / "n.npy", content);
  const NumberFile file(dir / "n.npy");
  std::vector<std::uint64_t> numbers(file.count());
  file.read(0, numbers);
  std::vector<std::uint64_t> walked;
  file.walk({}, [&](std::uint64_t first, std::span<const std::uint64_t> some) {
    CHECK(first == walked.size());
    walked.insert(walked.end(), some.begin(), some.end());
  });
  CHECK(walked == numbers);
  return numbers;
}

TEST_CASE("number file: integers of every width, sign and byte order read alike") {
  for (const std::string_view type : kIntegerTypes) {
    CAPTURE(type);
    CHECK(numbers_of(npy_as(type, std::vector<int>{0, 1, 5, 127})) ==
          std::vector<std::uint64_t>{0, 1, 5, 127});
    if (type[1] == 'i')
      CHECK(numbers_of(npy_as(type, std::vector<int>{-1})) == std::vector<std::uint64_t>{~0ULL});
  }
  CHECK(numbers_of(npy_as("|u1", std::vector<int>{255})) == std::vector<std::uint64_t>{255});
}

TEST_CASE("number file: reals are their own bits") {
  CHECK(numbers_of(npy_as("<f8", std::vector<double>{-0.5})) ==
        std::vector<std::uint64_t>{std::bit_cast<std::uint64_t>(-0.5)});
  CHECK(numbers_of(npy_as(">f4", std::vector<float>{1.5F})) ==
        std::vector<std::uint64_t>{std::bit_cast<std::uint32_t>(1.5F)});
}

TEST_CASE("number file: more numbers than are handed out at a time come in order") {
  std::vector<std::uint32_t> many(70'001);
  std::iota(many.begin(), many.end(), 7U);
  CHECK(numbers_of(npy_as("<u4", many)) == std::vector<std::uint64_t>(many.begin(), many.end()));
  CHECK(numbers_of(npy_as("<u4", std::vector<int>{})).empty());
}

TEST_CASE("number file: other shapes and dtypes are refused") {
  const TempDir dir;
  const auto code_of = [&](const std::string& content) {
    write_file(dir / "n.npy", content);
    return error_of([&] { NumberFile file(dir / "n.npy"); }).code();
  };
  CHECK(code_of(npy_text("<i4", {2, 1}, "12345678")) == Code::schema);
  CHECK(code_of(npy_text("<c8", {1}, "12345678")) == Code::schema);
  CHECK(code_of(npy_text("|S3", {1}, "abc")) == Code::schema);
}

TEST_CASE("number file: a file that shrinks after it was opened is damage") {
  const TempDir dir;
  write_file(dir / "n.npy", npy_as("<i8", std::vector<int>{1, 2, 3}));
  const NumberFile file(dir / "n.npy");
  std::filesystem::resize_file(dir / "n.npy", std::filesystem::file_size(dir / "n.npy") - 1);
  std::vector<std::uint64_t> numbers(3);
  CHECK(error_of([&] { file.read(0, numbers); }).code() == Code::damaged);
}

}  // namespace
}  // namespace shale
