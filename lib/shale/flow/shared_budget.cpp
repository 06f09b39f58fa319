#include "shale/flow/shared_budget.hpp"

#include "shale/base/error.hpp"

namespace shale {

std::uint64_t SharedBudget::held() const {
  const std::lock_guard lock(mutex_);
  return limit_ - free_;
}

std::optional<SharedBudget::Hold> SharedBudget::try_acquire(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > free_ || served_ != next_ticket_) return std::nullopt;
  free_ -= bytes;
  return Hold(*this, bytes);
}

SharedBudget::Hold SharedBudget::acquire(std::uint64_t bytes) {
  if (bytes > limit_) throw Error(Code::bug, "{} bytes wanted of a budget of {}", bytes, limit_);
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  changed_.wait(lock, [&] { return served_ == ticket && bytes <= free_; });
  free_ -= bytes;
  ++served_;
  changed_.notify_all();  // the next in line may fit too
  return Hold(*this, bytes);
}

void SharedBudget::give_back(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    free_ += bytes;
  }
  changed_.notify_all();
}

}  // namespace shale
