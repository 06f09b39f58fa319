#pragma once

#include <cstddef>
#include <span>

namespace shale {

/// The rows of an array whose bytes do not lie in their file as they are wanted (compressed, in
/// Fortran order): they come one after the other, in C order. One thread.
class RowStream {
 public:
  virtual ~RowStream() = default;
  /// Fills `into`, a whole number of rows, with the next ones; never asked for more than there are.
  /// What only the end of the file can prove (its checksum) is proved before the last row is handed
  /// out. Errors: Code::damaged with file and offset; Code::io.
  virtual void read_rows(std::span<std::byte> into) = 0;
};

}  // namespace shale
