#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shale/sampling/make_draw.hpp"

namespace shale {

/// What was said of a draw, option by option; nullopt and false: nothing.
struct DrawOptions {
  bool permute = false, replace = false;
  std::optional<std::string> indices = {}, weights = {};  ///< .npy files
  std::optional<std::uint64_t> rows = {}, seed = {};
};

/// The draw that the options ask for. Errors: Code::usage for two that exclude one another.
[[nodiscard]] DrawRequest draw_request(const DrawOptions& options);

}  // namespace shale
