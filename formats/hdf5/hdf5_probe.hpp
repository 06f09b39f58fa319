#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shale/base/bytes.hpp"
#include "shale/io/input_file.hpp"

#include "formats/hdf5/hdf5_description.hpp"

// HDF5 files that other tools made are seen by the HDF5 library in a child process only: the
// library trusts what it reads, and has crashed, hung and taken all memory on crafted files. This
// is the one place of shale that forks. The child is a copy of the calling thread alone, made while
// no other thread is inside the HDF5 library; it calls that library and plain code, sends messages
// through a pipe, and ends without a word to anything it has inherited.

namespace shale {

/// What the child may take.
struct ProbeLimits {
  std::uint64_t cpu_seconds = 20;
  std::uint64_t wall_seconds = 600;
  std::uint64_t memory_bytes = 64 << 20;  ///< more than the process has; not under sanitizers
};

/// By the size of the file: a second more per 100 MB, and memory for all of it, up to 4 GiB.
[[nodiscard]] ProbeLimits probe_limits_for(std::uint64_t file_bytes);

using SendMessage = std::function<void(Bytes)>;

/// Runs `work` in a child process with limits; what it sends, at most 1 MiB a message, is handed to
/// `take` as it comes. `path` is for the errors.
/// Errors: those that `work` throws, by code and words; Code::damaged if the child died of a
/// signal; Code::limit if it took more than it may; those that `take` throws; Code::io.
void run_hdf5_child(const std::string& path, const ProbeLimits& limits,
                    const std::function<void(const SendMessage&)>& work,
                    const std::function<void(Bytes)>& take);

/// What an HDF5 file holds at its root, and where it lies. Every place is inside the file.
/// Errors: as run_hdf5_child and describe_hdf5_file.
[[nodiscard]] Hdf5Description probe_hdf5_file(const InputFile& file);

}  // namespace shale
