#pragma once

#include <mutex>
#include <string>
#include <utility>

#include <hdf5.h>

namespace shale {

/// The HDF5 library is one global state. Every call into it is made while this lock is held, and so
/// is every fork of a process that will call it: the child must not inherit a half-done call.
[[nodiscard]] std::unique_lock<std::mutex> lock_hdf5();

/// Why the library's last call failed, in the words of its innermost message; empty if it does not
/// say. Used under lock_hdf5() only.
[[nodiscard]] std::string hdf5_failure_cause();

/// An identifier of the HDF5 library, closed by its destructor. Used under lock_hdf5() only.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }

  [[nodiscard]] hid_t id() const { return id_; }
  [[nodiscard]] bool is_valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  Close close_;
};

}  // namespace shale
