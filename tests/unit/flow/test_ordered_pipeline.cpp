#include <atomic>
#include <chrono>
#include <latch>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/flow/ordered_pipeline.hpp"

#include "unit/io/child_process.hpp"

namespace shale {

TEST_CASE("ordered pipeline: results come in the order of submission, for any number of workers") {
  for (const unsigned workers : {1U, 2U, 8U}) {
    CAPTURE(workers);
    OrderedPipeline<int> pipeline(workers);
    for (int i = 0; i < 2000; ++i) pipeline.submit([i](unsigned) { return i; });
    CHECK(pipeline.pending() == 2000);
    bool in_order = true;
    for (int i = 0; i < 2000; ++i) in_order = pipeline.take() == i && in_order;
    CHECK(in_order);
    CHECK(pipeline.pending() == 0);
  }
}

TEST_CASE("ordered pipeline: a later task that is done first waits for its turn") {
  OrderedPipeline<std::string> pipeline(2);
  std::latch second_is_done(1);
  pipeline.submit([&](unsigned) {
    second_is_done.wait();
    return "first";
  });
  pipeline.submit([&](unsigned) {
    second_is_done.count_down();
    return "second";
  });
  CHECK(pipeline.take() == "first");
  CHECK(pipeline.take() == "second");
}

TEST_CASE("ordered pipeline: the first error in input order wins, though a later one was faster") {
  OrderedPipeline<int> pipeline(2);
  std::latch later_has_failed(1);
  pipeline.submit([](unsigned) { return 1; });
  pipeline.submit([&](unsigned) -> int {
    later_has_failed.wait();
    throw std::runtime_error("earlier");
  });
  pipeline.submit([&](unsigned) -> int {
    later_has_failed.count_down();
    throw std::runtime_error("later");
  });
  pipeline.submit([](unsigned) { return 4; });
  CHECK(pipeline.take() == 1);
  CHECK_THROWS_WITH(pipeline.take(), "earlier");
  CHECK_THROWS_WITH(pipeline.take(), "later");
  CHECK(pipeline.take() == 4);
}

TEST_CASE("ordered pipeline: each task is told which worker runs it") {
  OrderedPipeline<unsigned> pipeline(3);
  std::latch all_run(3);
  for (int i = 0; i < 3; ++i) {
    pipeline.submit([&](unsigned worker) {
      all_run.arrive_and_wait();  // so that each needs a thread of its own
      return 1U << worker;
    });
  }
  CHECK((pipeline.take() | pipeline.take() | pipeline.take()) == 7U);
}

TEST_CASE("ordered pipeline: what a task captured is gone when its result is there") {
  OrderedPipeline<int> pipeline(2);
  for (int i = 0; i < 5000; ++i) {
    auto lease = std::make_shared<int>(i);
    const std::weak_ptr<int> watched = lease;
    pipeline.submit([lease = std::move(lease)](unsigned) {
      if (*lease % 2 == 1) throw std::runtime_error("odd");
      return *lease;
    });
    try {
      (void)pipeline.take();
    } catch (const std::runtime_error&) {
    }
    REQUIRE(watched.expired());
  }
}

TEST_CASE("ordered pipeline: destroying it waits for begun tasks and drops the others") {
  constexpr int kTasks = 20'000;
  const std::vector<std::byte> work(1 << 20);
  std::atomic<int> begun = 0, finished = 0;
  const auto token = std::make_shared<int>(0);
  {
    OrderedPipeline<std::uint32_t> pipeline(2);
    std::latch both_begun(2);
    for (int i = 0; i < kTasks; ++i) {
      pipeline.submit([&, i, token](unsigned) {
        ++begun;
        if (i < 2) both_begun.arrive_and_wait();
        const std::uint32_t crc = crc32c(work);
        ++finished;
        return crc;
      });
    }
    both_begun.wait();
  }
  CHECK(begun >= 2);
  CHECK(begun == finished);
  CHECK(begun < kTasks);  // all of them would take seconds
  CHECK(token.use_count() == 1);
}

TEST_CASE("ordered pipeline: one that never had a task has no threads") {
  const OrderedPipeline<int> pipeline(
      std::numeric_limits<unsigned>::max());  // no system has so many
  CHECK(pipeline.pending() == 0);
}

TEST_CASE("ordered pipeline: where the system grants no thread the calling one does the work") {
  const std::string results = test::text_from_child([] {
    if (!test::forbid(SYS_clone3) || !test::forbid(SYS_clone)) return std::string("0 1 thrown 3 ");
    OrderedPipeline<int> pipeline(8);
    for (int i = 0; i < 4; ++i) {
      pipeline.submit([i](unsigned worker) {
        if (i == 2) throw std::runtime_error("thrown");
        return i + static_cast<int>(worker);
      });
    }
    std::string text;
    while (pipeline.pending() > 0) {
      if (!pipeline.has_result(std::chrono::milliseconds(0)))
        return std::string("waits for nobody");
      try {
        text += std::to_string(pipeline.take()) + " ";
      } catch (const std::runtime_error& error) {
        text += std::string(error.what()) + " ";
      }
    }
    return text;
  });
  CHECK(results == "0 1 thrown 3 ");
}

TEST_CASE("ordered pipeline: results that can only be moved come through") {
  OrderedPipeline<std::unique_ptr<int>> pipeline(1);
  pipeline.submit([](unsigned) { return std::make_unique<int>(5); });
  CHECK(*pipeline.take() == 5);
}

// How many there are, moved from or not.
struct Counted {
  explicit Counted(std::atomic<int>& all) : count(&all) { ++*count; }
  Counted(const Counted& other) : count(other.count) { ++*count; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --*count; }
  std::atomic<int>* count;
};

TEST_CASE("ordered pipeline: once it has settled, its threads hold nothing of the tasks any more") {
  std::atomic<int> count = 0;
  OrderedPipeline<Counted> pipeline(3);
  pipeline.settle();  // before the first task, too
  for (int round = 0; round < 500; ++round) {
    for (int i = 0; i < 4; ++i) pipeline.submit([&count](unsigned) { return Counted(count); });
    while (pipeline.pending() > 0) (void)pipeline.take();
    pipeline.settle();
    REQUIRE(count == 0);
  }
}

}  // namespace shale
