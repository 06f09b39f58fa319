#pragma once

#include <cstdint>

#include "shale/base/bytes.hpp"

namespace shale {

/// The rows of an output in its order, as a stream of bytes. One thread.
class DrawnRows {
 public:
  virtual ~DrawnRows() = default;
  /// The bytes that follow: whole rows, or a part of a single row that is larger than the memory;
  /// nothing after the last. Valid until the next call.
  /// Errors: Code::io and Code::damaged with file and offset; Code::interrupted.
  [[nodiscard]] virtual Bytes next() = 0;
};

}  // namespace shale
