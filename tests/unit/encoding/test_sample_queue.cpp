#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/encoding/sample_queue.hpp"

#include "tests/support/sizes.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

SourceInfo one_field(bool has_keys = true) {
  SourceInfo info;
  info.schema = {.fields = {{.name = "x", .kind = Kind::bytes}}, .has_keys = has_keys};
  return info;
}

Sample sample_of(const std::string& bytes, std::string key = {}) {
  return {.key = std::move(key), .values = {as_bytes(bytes)}};
}

std::string text_in(const Sample& sample) {
  return std::string(as_text(std::get<Bytes>(sample.values.at(0))));
}

TEST_CASE("sample queue: samples come in order, copied, with their numbers for keys") {
  SampleQueue queue(one_field(), 16 * kMebi, 2);
  {
    std::string reused = "first";
    CHECK(queue.try_add(sample_of(reused)));
    reused = "other";
    CHECK(queue.try_add(sample_of(reused, "named")));
  }
  queue.finish();
  const std::optional<Batch> batch = queue.next(0);
  REQUIRE(batch);
  REQUIRE(batch->held.size() == 2);
  CHECK(batch->held[0].key == "00000000");
  CHECK(text_in(batch->held[0]) == "first");
  CHECK(batch->held[1].key == "named");
  CHECK(text_in(batch->held[1]) == "other");
  CHECK(queue.info().manifest.samples == 2);
  CHECK(queue.info().manifest.bytes == 10);
  CHECK_FALSE(queue.next(0));
}

TEST_CASE("sample queue: where keys are no more than numbers they have no leading zeros") {
  SampleQueue queue(one_field(false), 16 * kMebi, 2);
  CHECK(queue.try_add(sample_of("x")));
  queue.finish();
  CHECK(queue.next(0)->held.at(0).key == "0");
}

TEST_CASE("sample queue: lists are copied element by element") {
  SourceInfo info;
  info.schema.fields = {{.name = "x", .kind = Kind::list}};
  SampleQueue queue(info, 16 * kMebi, 2);
  std::string first = "aa", second;
  CHECK(queue.try_add({.key = {}, .values = {std::vector{as_bytes(first), as_bytes(second)}}}));
  first = "zz";
  queue.finish();
  const std::optional<Batch> batch = queue.next(0);
  const auto list = std::get<std::vector<Bytes>>(batch->held.at(0).values.at(0));
  REQUIRE(list.size() == 2);
  CHECK(as_text(list[0]) == "aa");
  CHECK(list[1].empty());
}

TEST_CASE("sample queue: there is room for the budget and no more, until a batch comes back") {
  SampleQueue queue(one_field(), 4 * kMebi, 1);
  const std::string value(kMebi / 2, 'v');
  std::uint64_t added = 0;
  while (queue.try_add(sample_of(value))) ++added;
  CHECK(added >= 4);
  CHECK(added * value.size() <= 4 * kMebi);
  CHECK_FALSE(queue.try_add(sample_of(value)));
  CHECK(queue.samples() == added);
  std::optional<Batch> batch = queue.next(0);
  REQUIRE(batch);
  CHECK(batch->lease.bytes() >= batch->bytes);
  queue.recycle(std::move(*batch));
  CHECK(queue.try_add(sample_of(value)));
}

TEST_CASE("sample queue: who waits for room goes on when a batch comes back") {
  SampleQueue queue(one_field(), 2 * kMebi, 1);
  const std::string value(200'000, 'v');
  std::uint64_t found = 0;
  std::jthread pipeline([&] {
    while (std::optional<Batch> batch = queue.next(0)) {
      for (const Sample& sample : batch->held) found += text_in(sample) == value ? 1 : 0;
      queue.recycle(std::move(*batch));
    }
  });
  for (int i = 0; i < 100; ++i) queue.add(sample_of(value), {});
  queue.finish();
  pipeline.join();
  CHECK(found == 100);
}

TEST_CASE(
    "sample queue: behind others, samples are numbered on, and no batch has more than a shard") {
  SourceInfo info = one_field();
  info.manifest.samples = 7;  // of the run before
  SampleQueue queue(info, 16 * kMebi, 1, 100, 2);
  for (int i = 0; i < 3; ++i) CHECK(queue.try_add(sample_of("x")));
  CHECK(queue.samples() == 10);
  const std::optional<Batch> batch = queue.next(0);
  REQUIRE(batch->held.size() == 2);
  CHECK(batch->first == 7);
  CHECK(batch->held[1].key == "00000108");
}

TEST_CASE("sample queue: with batches in flight an empty queue is not waited for") {
  SampleQueue queue(one_field(), 16 * kMebi, 1);
  CHECK_FALSE(queue.next(1));
  CHECK(queue.try_add(sample_of("x")));
  CHECK_FALSE(queue.next(1));  // still being filled
}

TEST_CASE("sample queue: a sample larger than the budget is lent, in its place, and waited for") {
  SampleQueue queue(one_field(), 2 * kMebi, 1);
  const std::string huge(3 * kMebi, 'h');
  CHECK_FALSE(queue.try_add(sample_of(huge, "huge")));
  CHECK(queue.try_add(sample_of("x", "before")));
  std::vector<std::string> keys;
  const void* lent = nullptr;
  std::jthread pipeline([&] {
    while (std::optional<Batch> batch = queue.next(0)) {
      for (const Sample& sample : batch->held) {
        keys.push_back(sample.key);
        if (sample.key == "huge") lent = std::get<Bytes>(sample.values[0]).data();
      }
      queue.recycle(std::move(*batch));
    }
  });
  queue.add(sample_of(huge, "huge"), {});
  CHECK(lent == static_cast<const void*>(huge.data()));
  queue.add(sample_of("y", "behind"), {});
  queue.finish();
  pipeline.join();
  CHECK(keys == std::vector<std::string>{"before", "huge", "behind"});
  CHECK(queue.samples() == 3);
}

TEST_CASE("sample queue: who stops while a sample is lent waits until nobody reads it") {
  SampleQueue queue(one_field(), 2 * kMebi, 1);
  const std::string huge(3 * kMebi, 'h');
  std::jthread pipeline([&] {
    try {
      for (;;) (void)queue.next(0);
    } catch (const Error&) {
      queue.fail(std::current_exception());
    }
  });
  const Events events{{.should_stop = [] { return true; }}};
  const Error error = error_of([&] { queue.add(sample_of(huge, "huge"), events); });
  pipeline.join();
  CHECK(error.code() == Code::interrupted);
  CHECK(queue.is_stopped());
}

TEST_CASE("sample queue: what ended the pipeline is thrown to whoever adds, or waits") {
  SampleQueue queue(one_field(), 2 * kMebi, 1);
  const std::string value(kMebi / 2, 'v');
  while (queue.try_add(sample_of(value))) continue;
  std::jthread pipeline(
      [&] { queue.fail(std::make_exception_ptr(Error(Code::io, "the disk is full"))); });
  CHECK(error_of([&] { queue.add(sample_of(value), {}); }).code() == Code::io);
  CHECK(error_of([&] { (void)queue.try_add(sample_of("x")); }).code() == Code::io);
}

TEST_CASE("sample queue: a signal ends the wait for room") {
  SampleQueue queue(one_field(), 2 * kMebi, 1);
  const std::string value(kMebi / 2, 'v');
  while (queue.try_add(sample_of(value))) continue;
  Events events;
  events.should_stop = [] { return true; };
  CHECK(error_of([&] { queue.add(sample_of(value), events); }).code() == Code::interrupted);
}

TEST_CASE("sample queue: stopped, the pipeline ends, and closed, it takes no more") {
  SampleQueue queue(one_field(), 2 * kMebi, 1);
  CHECK(queue.try_add(sample_of("x")));
  queue.stop();
  CHECK(error_of([&] { (void)queue.next(0); }).code() == Code::interrupted);
  queue.finish();
  CHECK(error_of([&] { (void)queue.try_add(sample_of("y")); }).code() == Code::usage);
}

}  // namespace
}  // namespace shale
