#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/callbacks.hpp"

namespace shale {

/// The error that ends work because somebody wants it to stop.
[[nodiscard]] inline Error interruption() {
  return Error(Code::interrupted, "interrupted")
      .hint("run the same command again to finish the job");
}

/// Callbacks, and what the work does with them.
struct Events : Callbacks {
  void say(std::string_view sentence) const {
    if (note) note(sentence);
  }
  void report(std::uint64_t done, std::uint64_t all, std::uint64_t bytes) const {
    if (progress) progress(done, all, bytes);
  }
  /// Errors: Code::interrupted if the caller wants to stop.
  void stop_if_asked() const {
    if (should_stop && should_stop()) throw interruption();
  }
  /// The same for what walks a file (WalkProgress): stops it, and reports bytes. Borrows this.
  [[nodiscard]] std::function<void(std::uint64_t done, std::uint64_t all)> of_walk() const {
    return [this](std::uint64_t done, std::uint64_t all) {
      stop_if_asked();
      report(done, all, done);
    };
  }
};

}  // namespace shale
