#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"

// Libraries that trust the files they read (HDF5's, liblmdb) see them in a child process only: they
// have crashed, hung and taken all memory on files that were damaged or made to do so. This is the
// one place of shale that forks. The child is a copy of the calling thread alone; it calls that
// library and plain code, sends messages through a pipe, and ends without touching anything that it
// has inherited.

namespace shale {

/// What a child may take.
struct ChildLimits {
  std::uint64_t cpu_seconds = 20;
  std::uint64_t wall_seconds = 600;
  std::uint64_t memory_bytes = 64 << 20;  ///< more than the process has; not under sanitizers
  std::uint64_t written_bytes = 0;        ///< up to which byte of a file it may write
};

/// By the size of the file that the child reads: a second more per 100 MB, and memory for all of
/// it, up to 4 GiB.
[[nodiscard]] ChildLimits child_limits_for(std::uint64_t file_bytes);

using SendMessage = std::function<void(Bytes)>;

/// What a child is to do, and about which file.
struct ChildWork {
  std::string who;               ///< whose code runs in it, for the errors: "the HDF5 library"
  std::string path;              ///< of the file, for the errors
  std::vector<int> descriptors;  ///< of its files: all others are closed in it
  ChildLimits limits;
  std::function<void(const SendMessage&)> run;
};

/// A child process with limits. However it is left, the child is killed and waited for. Forks in
/// the constructor: the caller sees to it that no other thread is inside a library that `run`
/// calls.
class LimitedChild {
 public:
  /// Errors: Code::io if there is no pipe or no process to be had.
  explicit LimitedChild(ChildWork work);
  ~LimitedChild();
  LimitedChild(const LimitedChild&) = delete;
  LimitedChild& operator=(const LimitedChild&) = delete;

  /// Hands what the child sends, at most 1 MiB a message, to `take` as it comes, until the child is
  /// done. `ask` is called at least ten times a second, and may throw, to stop. Once.
  /// Errors: those that ChildWork::run throws, by code and words; Code::damaged if the child died
  /// of a signal; Code::limit if it took more than it may; those that `take` and `ask` throw;
  /// Code::io.
  void listen(const std::function<void(Bytes)>& take, const std::function<void()>& ask = {});

 private:
  ChildWork work_;
  int descriptor_ = -1;  // the end of its pipe
  int pid_ = -1;
};

}  // namespace shale
