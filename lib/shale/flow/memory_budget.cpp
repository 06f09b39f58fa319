#include "shale/flow/memory_budget.hpp"

#include <atomic>

namespace shale {

struct Lease::Counter {
  std::atomic<std::uint64_t> leased{0};
};

Lease::GiveBack::~GiveBack() { counter->leased.fetch_sub(bytes); }

MemoryBudget::MemoryBudget(std::uint64_t limit_bytes)
    : limit_(limit_bytes), counter_(std::make_shared<Lease::Counter>()) {}

std::uint64_t MemoryBudget::leased() const { return counter_->leased.load(); }

std::optional<Lease> MemoryBudget::try_acquire(std::uint64_t bytes) {
  // Only one thread acquires, so the free bytes can only grow between the test and the addition.
  if (bytes > limit_ || leased() > limit_ - bytes) return std::nullopt;
  Lease lease;
  lease.bytes_ = bytes;
  lease.held_ = std::make_unique<Lease::GiveBack>();
  lease.held_->bytes = bytes;
  lease.held_->counter = counter_;
  counter_->leased.fetch_add(bytes);  // last: nothing above that fails leaves bytes taken
  return lease;
}

}  // namespace shale
