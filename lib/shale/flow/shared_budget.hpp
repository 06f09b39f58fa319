#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace shale {

/// A fixed number of bytes that many threads share. Whoever waits holds nothing of it, so that
/// waiting always ends. Thread-safe; outlives what it hands out.
class SharedBudget {
 public:
  /// Bytes taken from the budget, given back by the destructor, in any thread.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Hold() {
      if (budget_ != nullptr) budget_->give_back(bytes_);
    }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

   private:
    friend class SharedBudget;
    Hold(SharedBudget& budget, std::uint64_t bytes) : budget_(&budget), bytes_(bytes) {}
    SharedBudget* budget_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  explicit SharedBudget(std::uint64_t limit_bytes) : limit_(limit_bytes), free_(limit_bytes) {}
  SharedBudget(const SharedBudget&) = delete;
  SharedBudget& operator=(const SharedBudget&) = delete;

  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t held() const;
  /// Nullopt if fewer bytes are free.
  [[nodiscard]] std::optional<Hold> try_acquire(std::uint64_t bytes);
  /// Waits until the bytes are free, in the order of the calls: a large request is not overtaken
  /// for ever by small ones. The caller holds nothing of this budget. Errors: Code::bug for more
  /// than limit().
  [[nodiscard]] Hold acquire(std::uint64_t bytes);

 private:
  void give_back(std::uint64_t bytes);

  const std::uint64_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t free_;
  std::uint64_t next_ticket_ = 0, served_ = 0;
};

}  // namespace shale
