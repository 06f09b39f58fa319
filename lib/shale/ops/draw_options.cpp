#include "shale/ops/draw_options.hpp"

#include <array>

#include "shale/base/error.hpp"

namespace shale {
namespace {

struct Way {
  bool is_given;
  DrawMode mode;
};

void refuse_beside_indices(const DrawOptions& options) {
  if (!options.rows && !options.seed) return;
  throw Error(Code::usage, "--{} has no effect with --indices", options.rows ? "rows" : "seed")
      .hint("leave it out");
}

}  // namespace

DrawRequest draw_request(const DrawOptions& options) {
  const std::array<Way, 4> ways = {{{options.permute, DrawMode::permute},
                                    {options.replace, DrawMode::replace},
                                    {options.indices.has_value(), DrawMode::indices},
                                    {options.weights.has_value(), DrawMode::weights}}};
  std::optional<DrawMode> chosen;
  for (const Way& way : ways) {
    if (!way.is_given) continue;
    // Weights draw with replacement: to say so is not a contradiction.
    const bool is_implied = chosen == DrawMode::replace && way.mode == DrawMode::weights;
    if (chosen && !is_implied)
      throw Error(Code::usage, "--{} and --{} exclude each other", name_of(*chosen),
                  name_of(way.mode))
          .hint("leave one of them out");
    chosen = way.mode;
  }
  DrawRequest draw;
  draw.mode = chosen.value_or(DrawMode::permute);
  draw.rows = options.rows;
  draw.seed = options.seed.value_or(0);
  if (draw.mode == DrawMode::indices) {
    refuse_beside_indices(options);
    draw.file = *options.indices;
  }
  if (draw.mode == DrawMode::weights) draw.file = *options.weights;
  return draw;
}

}  // namespace shale
