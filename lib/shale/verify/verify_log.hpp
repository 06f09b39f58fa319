#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/verify/shard_check.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// How long whoever waits for a task may go without a step of the log.
inline constexpr std::chrono::milliseconds kBetweenSteps{50};

/// The account of a verification: what it has found, and how far it is. For the calling thread,
/// but for walked_to().
class VerifyLog {
 public:
  /// Both outlive it. `sink` may be null.
  VerifyLog(const FindingSink& sink, const Events& events) : sink_(sink), events_(events) {}
  VerifyLog(const FindingSink& sink, Events&& events) = delete;

  /// Counts a finding and passes it on; the report keeps the first of them.
  void add(Finding finding);
  void add_all(TaskFindings& findings);
  /// Findings that are counted only: nobody keeps them.
  void count(std::uint64_t findings) { report_.findings += findings; }
  /// Makes a finding of an error that is damage. Errors: any other error, thrown again.
  void add_damage(const Error& error, const std::string& shard);
  /// Findings but for images that were bad when they were written.
  [[nodiscard]] std::uint64_t damage() const { return report_.findings - report_.bad_when_written; }
  void note(std::string sentence) { report_.notes.push_back(std::move(sentence)); }

  /// Bytes that are to be done, or are done, for the progress.
  void expect(std::uint64_t bytes) { all_bytes_ += bytes; }
  void finish(std::uint64_t bytes) { done_bytes_ += bytes; }
  [[nodiscard]] std::uint64_t expected() const { return all_bytes_; }
  [[nodiscard]] std::uint64_t finished() const { return done_bytes_; }
  /// Bytes of the walk that is under way; from any thread.
  void walked_to(std::uint64_t bytes) { walked_bytes_ = bytes; }
  /// Hears a stop, and tells how far the work is. `under_way`: bytes that are not finished yet.
  /// Errors: Code::interrupted.
  void step(std::uint64_t under_way = 0) const;

  [[nodiscard]] VerifyReport& report() { return report_; }
  [[nodiscard]] std::uint64_t findings() const { return report_.findings; }
  [[nodiscard]] const Events& events() const { return events_; }

 private:
  const FindingSink& sink_;
  const Events& events_;
  VerifyReport report_;
  std::uint64_t all_bytes_ = 0, done_bytes_ = 0;
  std::atomic<std::uint64_t> walked_bytes_ = 0;
};

}  // namespace shale
