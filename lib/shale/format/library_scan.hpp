#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "shale/format/format.hpp"
#include "shale/io/limited_child.hpp"

// What the formats share that let the container's own library read a shard: see
// Format::scan_by_library.

namespace shale {

struct LibraryScan {
  std::string library;  ///< with its version: "liblmdb 0.9.24"
  ChildLimits limits;
  /// Held while the process forks: no other thread is then inside the library.
  std::function<std::unique_lock<std::mutex>()> hold;
  /// In the child. `path` opens the shard's file, whatever has become of its name. What it throws
  /// as Code::damaged is a finding.
  std::function<void(const std::string& path, const RowSink&, const FindingSink&)> scan;
};

/// Runs a scan of the first file of a shard in a child process; rows and findings cross the pipe.
/// Errors: same as Format::scan_by_library.
[[nodiscard]] LibraryReading scan_in_child(const ShardInput& input, const LibraryScan& scan,
                                           const RowSink& rows, const FindingSink& findings,
                                           const std::function<void()>& ask);

}  // namespace shale
