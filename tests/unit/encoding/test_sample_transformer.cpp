#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "shale/encoding/sample_transformer.hpp"

#include "tests/support/sizes.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using test::kMebi;

// Noise: a PNG of it is about as large.
std::string noise_of(unsigned width, unsigned height) {
  std::string image = fmt::format("P5\n{} {}\n255\n", width, height);
  std::uint32_t state = 1;
  for (unsigned i = 0; i < width * height; ++i) {
    state = state * 1664525 + 1013904223;
    image += static_cast<char>(state >> 24);
  }
  return image;
}

Transform transform_of(const ImageRule& rule, Kind kind = Kind::bytes) {
  Schema schema{.fields = {{.name = "image", .kind = kind}}};
  return Transform(std::move(schema), {{0, rule}});
}

Bytes bytes_in(const Sample& sample) { return std::get<Bytes>(sample.values[0]); }

constexpr ImageRule kHalf{
    .resize = Resize::exact, .width = 4, .height = 3, .encode = EncodeAs::raw};

}  // namespace

TEST_CASE("sample transformer: the result is a copy, and counted") {
  const Transform transform = transform_of(kHalf);
  TransformBudget budget(64 * kMebi, 1);
  SampleTransformer transformer(transform, budget);
  const std::string image = "P5\n8 6\n255\n" + std::string(48, '7');
  const Sample sample{"a", {Bytes(as_bytes(image))}};
  ResultMemory results;
  const auto made = transformer.run(sample, 0, results, true);
  REQUIRE(made);
  CHECK(made->fault.empty());
  CHECK(as_text(bytes_in(made->sample)) == std::string(36, '7'));
  CHECK(made->changes[static_cast<std::size_t>(ImageChange::resized)] == 1);
  CHECK(made->changes[static_cast<std::size_t>(ImageChange::kept)] == 0);
  CHECK(results.bytes() == 36);
  CHECK(budget.results.held() > 36);
  CHECK(budget.work.held() == 0);
}

TEST_CASE("sample transformer: an image that needs no change is borrowed") {
  const Transform transform = transform_of({.resize = Resize::shorter, .width = 6});
  TransformBudget budget(64 * kMebi, 1);
  SampleTransformer transformer(transform, budget);
  const std::string image = noise_of(8, 6);
  const Sample sample{"a", {Bytes(as_bytes(image))}};
  ResultMemory results;
  const auto made = transformer.run(sample, 0, results, true);
  REQUIRE(made);
  CHECK(bytes_in(made->sample).data() == as_bytes(image).data());
  CHECK(results.bytes() == 0);
  CHECK(made->changes[static_cast<std::size_t>(ImageChange::kept)] == 1);
}

TEST_CASE(
    "sample transformer: without room for results the sample is left, or its results are "
    "the caller's") {
  const Transform transform = transform_of(kHalf);
  TransformBudget budget(64 * kMebi, 1);
  SampleTransformer transformer(transform, budget);
  const std::string image = noise_of(8, 6);
  const Sample sample{"a", {Bytes(as_bytes(image))}};
  const auto all = budget.results.acquire(budget.results.limit());
  ResultMemory results;
  CHECK_FALSE(transformer.run(sample, 0, results, true));
  CHECK(results.pieces() == 0);
  CHECK(transformer.run(sample, 0, results, false));
  CHECK(results.bytes() == 36);
}

TEST_CASE("sample transformer: one bad frame leaves the whole list as it was") {
  const Transform transform = transform_of(kHalf, Kind::list);
  TransformBudget budget(64 * kMebi, 1);
  SampleTransformer transformer(transform, budget);
  const std::string good = noise_of(8, 6), bad = noise_of(8, 6).substr(0, 40);
  const Sample sample{"a", {std::vector<Bytes>{as_bytes(good), as_bytes(bad), as_bytes(good)}}};
  ResultMemory results;
  const auto made = transformer.run(sample, 0, results, true);
  REQUIRE(made);
  CHECK(made->fault.text.find("number 1 ") != std::string::npos);
  CHECK(std::get<std::vector<Bytes>>(made->sample.values[0])[0].data() == as_bytes(good).data());
  CHECK(made->changes == ImageChanges{});
  CHECK(results.pieces() == 0);
  CHECK(budget.results.held() == 0);
}

TEST_CASE("sample transformer: an image beyond the memory ends the run, naming the sample") {
  const Transform transform = transform_of({.crop_width = 100, .crop_height = 100});
  TransformBudget budget(kMebi, 1);
  SampleTransformer transformer(transform, budget);
  // A bit per pixel, in memory a byte.
  const std::string image = "P4\n8000 7001\n" + std::string(1000 * 7001, '\0');
  const Sample sample{"big", {Bytes(as_bytes(image))}};
  ResultMemory results;
  const Error error = error_of([&] { (void)transformer.run(sample, 9, results, true); });
  CHECK(error.code() == Code::limit);
  CHECK(error.sample()->key == "big");
  CHECK(error.message().find("8000 x 7001") != std::string::npos);
  CHECK(error.message().find(std::to_string(budget.work.limit())) != std::string::npos);
  CHECK(error.hint().find("--memory") != std::string::npos);
  CHECK(budget.work.held() == 0);
}

TEST_CASE("sample transformer: an image may take the shares of all threads, and waits for them") {
  const Transform transform = transform_of({.crop_width = 100, .crop_height = 100});
  TransformBudget budget(kMebi, 8);
  const std::string image = "P4\n8000 3500\n" + std::string(1000 * 3500, '\0');  // 28 MB
  const Sample sample{"wide", {Bytes(as_bytes(image))}};
  std::vector<SampleTransformer> transformers(2, SampleTransformer(transform, budget));
  ResultMemory results[2];
  std::thread other([&] { CHECK(transformers[1].run(sample, 1, results[1], true)); });
  CHECK(transformers[0].run(sample, 0, results[0], true));
  other.join();
  CHECK(budget.work.held() == 0);
}

TEST_CASE("sample transformer: work that is wanted no more ends") {
  const Transform transform = transform_of(kHalf);
  TransformBudget budget(kMebi, 1);
  SampleTransformer transformer(transform, budget);
  const std::string image = noise_of(8, 6);
  const Sample sample{"a", {Bytes(as_bytes(image))}};
  ResultMemory results;
  budget.is_stopped = true;
  const Error error = error_of([&] { (void)transformer.run(sample, 0, results, true); });
  CHECK(error.code() == Code::interrupted);
}

TEST_CASE("sample transformer: the shares of the memory are no more than it and an allowance") {
  for (const std::uint64_t memory : {4 * kMebi, 16 * kMebi, 1024 * kMebi}) {
    const TransformShares shares = shares_of(memory);
    CHECK(shares.payload + shares.work + shares.results + shares.one_sample <= memory + 32 * kMebi);
    for (const unsigned threads : {1U, 2U, 64U}) {
      const TransformBudget budget(memory, threads);
      CHECK(budget.work.limit() + threads * budget.own_bytes <= shares.work);
    }
  }
}

}  // namespace shale
