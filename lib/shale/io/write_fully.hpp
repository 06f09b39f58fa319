#pragma once

#include <cstdint>
#include <string>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"

namespace shale {

/// The result of a write: `bytes` went out, then `error` stopped it (an errno; 0: all went).
struct WriteOutcome {
  std::uint64_t bytes = 0;
  int error = 0;
};

/// pwrite until all of `bytes` is out or an error stops it; EINTR and short writes are carried on.
/// Never throws.
[[nodiscard]] WriteOutcome try_write(int descriptor, Bytes bytes, std::uint64_t offset) noexcept;

/// The error for a write of `wanted` bytes at `offset` that failed with `error_number`: Code::io;
/// if the disk is full it says how many bytes are available and what to do.
[[nodiscard]] Error write_error(int descriptor, const std::string& path, std::uint64_t offset,
                                std::uint64_t wanted, int error_number);

/// Writes all of `bytes` at `offset`. Errors: same as write_error.
void write_fully(int descriptor, Bytes bytes, std::uint64_t offset, const std::string& path);

}  // namespace shale
