#pragma once

#include <chrono>
#include <functional>
#include <type_traits>
#include <utility>

#include <nanobind/nanobind.h>

// All that takes the interpreter's lock or runs Python code goes through here: nowhere else may a
// thread be ended by the interpreter. tests/house looks for it.

namespace shale::python {

/// Calls `act` with `data`. If the thread is ended in it by pthread_exit(), the thread waits for
/// the end of the process instead, and nothing above this call is unwound.
///
/// Compiled without exceptions (run_or_park.cpp): glibc then jumps there and asks no C++ run time,
/// of which there may be one per module, to unwind the frames of another. `act` has nothing to
/// destroy.
void run_or_park(void (*act)(void*), void* data);

/// Runs functions of Python's C interface that may run Python code or wait for the interpreter's
/// lock; `call` makes no C++ object.
///
/// CPython before 3.14 ends a thread that asks for the lock after the interpreter has begun to end,
/// by pthread_exit(). That unwinds the stack: destructors would change reference counts without the
/// lock, and frames that are noexcept, as nanobind's are, abort the process. So the unwinding stops
/// before it reaches them (run_or_park), and the thread waits, as it does in CPython 3.14. It holds
/// no lock of Python's then. There is no moment too late to look whether the interpreter is ending,
/// because nothing looks.
template <class Call>
auto or_parked(Call call) {
  using Result = std::invoke_result_t<Call&>;
  if constexpr (std::is_void_v<Result>) {
    run_or_park([](void* data) { (*static_cast<Call*>(data))(); }, &call);
  } else {
    std::pair<Call*, Result> both{&call, Result{}};
    run_or_park(
        [](void* data) {
          auto* both = static_cast<std::pair<Call*, Result>*>(data);
          both->second = (*both->first)();
        },
        &both);
    return both.second;
  }
}

/// Gives the interpreter's lock back while it lives: to wait for a disk, or to compute.
class Unlocked {
 public:
  Unlocked() : thread_(PyEval_SaveThread()) {}
  ~Unlocked() {
    or_parked([this] { PyEval_RestoreThread(thread_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* thread_;
};

/// Keeps the garbage collector from running, whose finalizers are Python code, while a function
/// makes objects with the lock held.
class NoCollection {
 public:
  NoCollection();
  ~NoCollection();
  NoCollection(const NoCollection&) = delete;
  NoCollection& operator=(const NoCollection&) = delete;

 private:
  bool was_on_;
};

/// What a thread asks the interpreter from below an Unlocked. Made with the lock held, used by the
/// thread that made it.
class CallingThread {
 public:
  CallingThread() : thread_(PyThreadState_Get()) {}

  /// Runs `act` with the lock.
  template <class Act>
  auto locked(Act act) const {
    const Held held(thread_);
    return act();
  }
  /// Whether the handler of a signal has raised; the exception is set then. Looks twenty times a
  /// second at most, and in the main thread only: no other runs handlers.
  [[nodiscard]] bool was_interrupted();

 private:
  using Clock = std::chrono::steady_clock;

  struct Held {
    explicit Held(PyThreadState* thread) {
      or_parked([thread] { PyEval_RestoreThread(thread); });
    }
    ~Held() { PyEval_SaveThread(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
  };

  PyThreadState* thread_;
  Clock::time_point last_look_ = {};
};

/// Counts forks from now on. Returns how many there were. Errors: Code::bug.
[[nodiscard]] unsigned count_forks();
/// How many forks lie between this process and the one that began to count them. Unlike getpid(),
/// which says as much, no system call.
[[nodiscard]] unsigned forks_so_far() noexcept;

/// `module.name`, imported. Errors: nb::python_error.
[[nodiscard]] nanobind::object import_name(const char* module, const char* name);

/// Calls a function of Python. Errors: nb::python_error.
nanobind::object call_with(nanobind::handle function, const nanobind::tuple& arguments);
template <class... Arguments>
nanobind::object call_python(nanobind::handle function, const Arguments&... arguments) {
  const auto made = [&] {
    const NoCollection no_collection;
    return nanobind::make_tuple(arguments...);
  };
  return call_with(function, made());
}

}  // namespace shale::python
