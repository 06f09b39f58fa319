#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/arrays/array_file.hpp"
#include "shale/arrays/fortran_rows.hpp"
#include "shale/arrays/located_rows.hpp"
#include "shale/arrays/row_stream.hpp"
#include "shale/base/events.hpp"
#include "shale/format/source.hpp"
#include "shale/io/free_space.hpp"

namespace shale {

/// The rows of one array: where they are in its file, or, if they are not in C order (in
/// Fortran order, compressed), as a stream. One thread.
class ArrayRows {
 public:
  /// `stride`: the bytes of a row. `scratch_folder`: for what has to be put in order first.
  ArrayRows(ArrayFile array, std::uint64_t stride, std::string scratch_folder);

  [[nodiscard]] std::uint64_t rows() const { return array_.shape.front(); }
  /// True if rows have to be put together from all over the file.
  [[nodiscard]] bool is_fortran() const { return fortran_.has_value(); }
  /// True if its rows can be read in any order.
  [[nodiscard]] bool is_located() const { return located_ != nullptr; }
  /// What the user should know of how it is read.
  [[nodiscard]] std::vector<std::string> notes(std::uint64_t memory_bytes) const;

  /// Adds the rows [row, row + rows) to the run: where they are, or themselves. Streams are read in
  /// order. Errors: same as open_fortran and open_member; Code::interrupted.
  void take(std::uint64_t row, std::uint64_t rows, std::uint64_t memory_bytes, PendingSample& run,
            const Events& events);
  /// What locate() takes.
  [[nodiscard]] ScratchNeed scratch_need(std::uint64_t memory_bytes) const;
  /// Where its rows lie; those of a stream are written into a nameless file first. Errors: same as
  /// take.
  [[nodiscard]] LocatedRows::Segment locate(std::uint64_t memory_bytes, const Events& events);

 private:
  [[nodiscard]] FortranArray fortran(PieceSource from) const;
  [[nodiscard]] FortranPlan fortran_plan(std::uint64_t memory_bytes) const;
  [[nodiscard]] std::unique_ptr<RowStream> open_stream(std::uint64_t memory_bytes,
                                                       const Events& events);
  [[nodiscard]] std::shared_ptr<const InputFile> write_out(RowStream& stream,
                                                           const Events& events) const;
  template <class Use>
  void copy(RowStream& stream, Use use, const Events& events) const;

  ArrayFile array_;
  std::uint64_t stride_;
  std::string scratch_folder_;
  std::optional<FortranArray> fortran_;       // how its rows are put together; without a file
  std::shared_ptr<const InputFile> located_;  // where rows lie one after the other, from offset_ on
  std::uint64_t offset_ = 0;
  std::unique_ptr<RowStream> stream_;
};

}  // namespace shale
