#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "shale/base/events.hpp"

#include "python/bindings/interpreter.hpp"

namespace shale::python {

/// What stops where a signal's handler has raised. Borrows `caller`.
[[nodiscard]] Events stopped_by_signals(CallingThread& caller);

/// What a run tells the thread that called it, which does not hold the interpreter's lock during
/// it: notes are kept, `progress(done, all)` is called, signals and its exceptions stop the run.
class Watch {
 public:
  /// `progress`: a callable, or None.
  explicit Watch(nanobind::object progress) : progress_(std::move(progress)) {}

  /// Borrows this.
  [[nodiscard]] Events events();
  /// The sentences so far.
  [[nodiscard]] nanobind::list notes() const;

 private:
  void show(std::uint64_t done, std::uint64_t all);

  const nanobind::object progress_;
  std::uint64_t shown_ = 0;
  std::chrono::steady_clock::time_point last_shown_ = std::chrono::steady_clock::now();
  CallingThread caller_;
  std::vector<std::string> notes_;
};

}  // namespace shale::python
