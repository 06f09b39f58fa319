#include "python/bindings/interpreter.hpp"

#include <atomic>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shale/base/error.hpp"

namespace nb = nanobind;

namespace shale::python {
namespace {

// The lock may be a switch interval (5 ms) away: it is asked for rarely.
constexpr std::chrono::milliseconds kSignalInterval{50};

nb::object checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

}  // namespace

NoCollection::NoCollection() : was_on_(PyGC_Disable() != 0) {}
NoCollection::~NoCollection() {
  if (was_on_) PyGC_Enable();
}

bool CallingThread::was_interrupted() {
  if (::syscall(SYS_gettid) != ::getpid()) return false;
  const Clock::time_point now = Clock::now();
  if (now - last_look_ < kSignalInterval) return false;
  last_look_ = now;
  return locked([] { return or_parked(PyErr_CheckSignals) != 0; });
}

namespace {

std::atomic<unsigned>& fork_count() noexcept {
  static std::atomic<unsigned> count = 0;
  return count;
}

}  // namespace

unsigned count_forks() {
  static const int failure = ::pthread_atfork(nullptr, nullptr, [] { ++fork_count(); });
  if (failure != 0) throw Error(Code::bug, "the forks of this process cannot be counted");
  return forks_so_far();
}

unsigned forks_so_far() noexcept { return fork_count(); }

nb::object import_name(const char* module, const char* name) {
  const nb::object imported = checked(or_parked([&] { return PyImport_ImportModule(module); }));
  return checked(PyObject_GetAttrString(imported.ptr(), name));
}

nb::object call_with(nb::handle function, const nb::tuple& arguments) {
  return checked(or_parked([&] { return PyObject_CallObject(function.ptr(), arguments.ptr()); }));
}

}  // namespace shale::python
