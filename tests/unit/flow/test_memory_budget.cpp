#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "shale/flow/memory_budget.hpp"

namespace shale {

TEST_CASE("memory budget: leases add up to the limit and not a byte beyond") {
  MemoryBudget budget(100);
  const auto first = budget.try_acquire(60), second = budget.try_acquire(40);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->bytes() == 60);
  CHECK(budget.leased() == 100);
  CHECK_FALSE(budget.try_acquire(1));
  CHECK(budget.try_acquire(0));
}

TEST_CASE("memory budget: a request beyond the limit never succeeds, however large") {
  MemoryBudget budget(100);
  CHECK_FALSE(budget.try_acquire(101));
  CHECK_FALSE(budget.try_acquire(~std::uint64_t{0}));
  CHECK(budget.leased() == 0);
}

TEST_CASE("memory budget: a lease is given back once, wherever it was moved") {
  MemoryBudget budget(100);
  {
    auto lease = budget.try_acquire(70);
    Lease moved = std::move(*lease);
    lease.reset();
    CHECK(budget.leased() == 70);
    Lease again;
    again = std::move(moved);
    CHECK(budget.leased() == 70);
  }
  CHECK(budget.leased() == 0);
}

TEST_CASE("memory budget: a lease may outlive its budget") {
  std::optional<Lease> lease;
  {
    MemoryBudget budget(10);
    lease = budget.try_acquire(10);
  }
  CHECK(lease->bytes() == 10);
}

TEST_CASE("memory budget: leases given back in other threads are free again") {
  MemoryBudget budget(1000);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 10; ++i) {
      auto lease = budget.try_acquire(100);
      REQUIRE(lease);
      threads.emplace_back([held = std::move(*lease)] { (void)held; });
    }
    threads.clear();
    CHECK(budget.leased() == 0);
  }
}

}  // namespace shale
