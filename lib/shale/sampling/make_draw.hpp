#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/checksum.hpp"
#include "shale/base/events.hpp"
#include "shale/sampling/draw.hpp"

namespace shale {

/// How rows are drawn.
enum class DrawMode {
  permute,  ///< without replacement: the first rows of a shuffled order (Permutation)
  replace,  ///< with replacement, each row alike (SplitCounts, and a Permutation of the slots)
  weights,  ///< with replacement, in proportion to the numbers in a file
  indices,  ///< as a file lists them
};

[[nodiscard]] constexpr std::string_view name_of(DrawMode mode) {
  constexpr std::string_view kNames[] = {"permute", "replace", "weights", "indices"};
  return kNames[static_cast<std::size_t>(mode)];
}

/// A draw as requested.
struct DrawRequest {
  DrawMode mode = DrawMode::permute;
  std::optional<std::uint64_t> rows;  ///< of the output; nullopt: as many as the source has, or are
                                      ///< listed
  std::uint64_t seed = 0;
  std::string file;  ///< an .npy file of one axis: weights of any real or integer dtype, one per
                     ///< row, or row numbers of any integer dtype, negative ones from the end
};

/// What a file of weights or indices holds, for what must not change: xxh3-128 of its bytes.
/// Errors: same as InputFile.
[[nodiscard]] Hash128 hash_of_draw_file(const std::string& path);

/// Memory: `memory_bytes`, at least 1 MiB (open_listed_draw says when that becomes 1.3). Scratch
/// files are nameless, in `scratch_folder`: of weights 8 bytes per row, unless a quarter of the
/// memory holds them; of indices 16 bytes each, made by the first sweep. The files are checked
/// here, in one pass over indices and two over weights; `events` is asked whether to stop, and not
/// kept. Errors: Code::usage for more rows than there are, without replacement; for rows of a
/// source without rows; for a number of rows beside a list of them; for 2^63 draws. Code::schema,
/// with file and both numbers, for a file of another shape or dtype, for an index outside the
/// source (which one, where in the file), for a weight that is negative, not finite or missing, for
/// weights that are all 0. Code::unsupported for an archive of arrays; same as open_arrays;
/// Code::damaged for a bool that is neither 0 nor 1; Code::io; Code::interrupted.
[[nodiscard]] std::unique_ptr<Draw> make_draw(const DrawRequest& request, std::uint64_t source_rows,
                                              std::uint64_t memory_bytes,
                                              const std::string& scratch_folder,
                                              const Events& events);

/// The slots [first, first + rows) of a draw, which has them, as a draw of its own.
[[nodiscard]] std::unique_ptr<Draw> part_of_draw(std::unique_ptr<const Draw> whole,
                                                 std::uint64_t first, std::uint64_t rows);
/// The same of one that outlives it.
[[nodiscard]] std::unique_ptr<Draw> part_of_draw(const Draw& whole, std::uint64_t first,
                                                 std::uint64_t rows);

}  // namespace shale
