#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "shale/io/input_stream.hpp"
#include "shale/io/nameless_file.hpp"

namespace shale {

/// A list of files that stdin held, for as many readings as a run needs: of a split, of chosen
/// samples. Thread-safe.
class StdinCopy {
 public:
  /// False: stdin has not been read, and may hold something else.
  [[nodiscard]] bool is_whole() const;
  /// Keeps all of `input`, which is stdin, in a nameless file in `folder`. Errors: same as
  /// InputStream; Code::io.
  void keep(InputStream& input, const std::string& folder);
  /// What this process opens it by. Only if it is whole.
  [[nodiscard]] std::string path() const;

 private:
  mutable std::mutex mutex_;
  std::optional<NamelessFile> file_;
  bool is_whole_ = false;
};

}  // namespace shale
