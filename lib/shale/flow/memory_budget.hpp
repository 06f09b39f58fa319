#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace shale {

/// Bytes taken from a MemoryBudget, given back by the destructor, in any thread.
class Lease {
 public:
  Lease() = default;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  friend class MemoryBudget;
  struct Counter;
  struct GiveBack {
    std::uint64_t bytes;
    std::shared_ptr<Counter> counter;
    ~GiveBack();
  };
  std::unique_ptr<GiveBack> held_;
  std::uint64_t bytes_ = 0;
};

/// A fixed number of bytes that a command may hold at once. Leases are taken by the one thread that
/// sees input order: were the workers to take them, later samples could hold the whole budget while
/// the commit waits for an earlier one.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit_bytes);
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t leased() const;
  /// Nullopt if fewer bytes are free. A request of more than limit() never succeeds: check before.
  [[nodiscard]] std::optional<Lease> try_acquire(std::uint64_t bytes);

 private:
  std::uint64_t limit_;
  std::shared_ptr<Lease::Counter> counter_;
};

}  // namespace shale
