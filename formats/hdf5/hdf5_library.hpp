#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/limited_child.hpp"
#include "shale/io/nameless_file.hpp"

// HDF5 files are seen by the HDF5 library in a child process only (shale/io/limited_child.hpp). It
// is forked while no other thread is inside the HDF5 library, which is not proof against hostile
// files.

namespace shale {

/// The HDF5 library is one global state. Every call into it is made while this lock is held, and so
/// is every fork of a process that will call it: the child must not inherit a half-done call.
[[nodiscard]] std::unique_lock<std::mutex> lock_hdf5();

/// Why the library's last call failed, in the words of its innermost message; empty if it does not
/// say. Used under lock_hdf5() only.
[[nodiscard]] std::string hdf5_failure_cause();
/// The error that the library could not do something, with the cause: Code::damaged, but of a
/// version that it does not know Code::unsupported, with a hint. Used under lock_hdf5() only.
[[nodiscard]] Error hdf5_failure(const std::string& message);

/// Runs `work` in a child process, as LimitedChild and its listen() do. `into`, if there is one, is
/// what it writes.
void run_hdf5_child(const InputFile& file, const ChildLimits& limits,
                    const std::function<void(const SendMessage&)>& work,
                    const std::function<void(Bytes)>& take, const std::function<void()>& ask = {},
                    const NamelessFile* into = nullptr);

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

/// The names of the objects in a group, sorted bytewise; no more than the first `most`, if there
/// are more. Used under lock_hdf5() only, as those below. Errors: hdf5_failure, unless the file may
/// be damaged: then those that can be read.
[[nodiscard]] std::vector<std::string> hdf5_names_in(hid_t group, std::size_t most,
                                                     bool takes_damaged = false);
/// Errors: hdf5_failure, with what the object is called for people.
[[nodiscard]] Hdf5Handle open_hdf5_object(hid_t parent, const std::string& name,
                                          const std::string& path);
/// Any other link might lead into another file.
[[nodiscard]] bool is_hdf5_hard_link(hid_t group, const std::string& name);

}  // namespace shale
