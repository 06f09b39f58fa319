#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/flow/shared_budget.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

constexpr auto kAWhile = std::chrono::milliseconds(20);

}  // namespace

TEST_CASE("shared budget: holds add up to the limit, and are given back once") {
  SharedBudget budget(100);
  {
    std::optional<SharedBudget::Hold> first = budget.try_acquire(60);
    REQUIRE(first);
    CHECK_FALSE(budget.try_acquire(41));
    SharedBudget::Hold moved = std::move(*first);
    first.reset();
    CHECK(budget.held() == 60);
    SharedBudget::Hold second = budget.acquire(40);
    CHECK(budget.held() == 100);
    moved = SharedBudget::Hold();
    CHECK(budget.held() == 40);
  }
  CHECK(budget.held() == 0);
}

TEST_CASE("shared budget: more than there is would be waited for in vain") {
  SharedBudget budget(100);
  const Error error = test::error_of([&] { (void)budget.acquire(101); });
  CHECK(error.code() == Code::bug);
  CHECK(budget.acquire(100).bytes() == 100);
}

TEST_CASE("shared budget: small requests do not overtake a large one that waits") {
  SharedBudget budget(100);
  std::optional<SharedBudget::Hold> hold = budget.acquire(50);
  std::atomic<bool> has_large = false, has_small = false;
  std::thread large([&] {
    const SharedBudget::Hold mine = budget.acquire(100);
    has_large = true;
    CHECK_FALSE(has_small);
  });
  // Until it waits, a small request would succeed.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool waits = false;
  while (!waits && std::chrono::steady_clock::now() < deadline) waits = !budget.try_acquire(1);
  CHECK(waits);
  std::thread small([&] {
    const SharedBudget::Hold mine = budget.acquire(1);
    has_small = true;
  });
  std::this_thread::sleep_for(kAWhile);
  CHECK_FALSE(has_large);
  CHECK_FALSE(has_small);
  hold.reset();
  large.join();
  small.join();
  CHECK(has_large);
  CHECK(has_small);
  CHECK(budget.held() == 0);
}

TEST_CASE("shared budget: many threads never hold more than there is") {
  SharedBudget budget(1000);
  std::atomic<int> held = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 1; i <= 6; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 500; ++round) {
        const int bytes = (i * 97 + round * 13) % 1000 + 1;
        const SharedBudget::Hold mine = budget.acquire(static_cast<std::uint64_t>(bytes));
        const int now = held += bytes;
        int before = most;
        while (before < now && !most.compare_exchange_weak(before, now)) {
        }
        held -= bytes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(most <= 1000);
  CHECK(budget.held() == 0);
}

}  // namespace shale
