#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/events.hpp"
#include "shale/io/free_space.hpp"

namespace shale {

/// A row of the source, and the row of the output (the slot) that it goes to.
struct DrawnPlace {
  std::uint64_t row = 0, slot = 0;
};

/// Which row of a source of n rows each of N rows of an output is. It can be asked from both sides:
/// what fills a slot, and, in one sweep over the source, where each row goes. Thread-safe.
class Draw {
 public:
  virtual ~Draw() = default;
  [[nodiscard]] virtual std::uint64_t source_rows() const = 0;
  /// Rows of the output.
  [[nodiscard]] virtual std::uint64_t rows() const = 0;

  /// About what it takes to look up a slot, and to make a step of the sweep, in nanoseconds of one
  /// of two threads: in bytes that a disk of 2 GB/s moves in that time.
  struct Costs {
    std::uint64_t slot = 0, step = 0;
  };
  [[nodiscard]] virtual Costs costs() const { return {}; }

  /// The source rows of the slots [first, first + into.size()).
  /// Errors: Code::io, of draws that are kept in files.
  virtual void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const = 0;

  /// What prepare_sweep() will take in a scratch folder; what is kept, the draw keeps.
  [[nodiscard]] virtual ScratchNeed sweep_scratch() const { return {}; }
  /// Before the first sweep(), by one thread; again, it does nothing.
  /// Errors: same as rows_of; Code::interrupted.
  virtual void prepare_sweep(const Events& events) const { (void)events; }
  /// The sweep is a list of steps; each yields one place, or none.
  [[nodiscard]] virtual std::uint64_t sweep_steps() const = 0;
  /// The places of the steps [first, last), ascending by row, and none below those of the steps
  /// before. All steps together yield each slot once. Errors: same as rows_of.
  [[nodiscard]] virtual std::vector<DrawnPlace> sweep(std::uint64_t first,
                                                      std::uint64_t last) const = 0;
};

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
