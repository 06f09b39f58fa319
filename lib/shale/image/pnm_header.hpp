#pragma once

#include <cstdint>

#include "shale/image/header_view.hpp"
#include "shale/image/image_info.hpp"

namespace shale {

/// The header of a PNM; pnm_probe.cpp has the layout.
struct PnmHeader {
  unsigned kind = 0;  // 1..6
  std::uint64_t width = 0, height = 0, top_level = 1;
  std::uint64_t pixels_begin = 0;
  ImageFault fault;
};
/// Errors: none, `fault` says it.
[[nodiscard]] PnmHeader read_pnm_fields(const HeaderView& view);

/// Where the white space and comments that begin at `at` end.
[[nodiscard]] std::uint64_t skip_pnm_gap(const HeaderView& view, std::uint64_t at);
[[nodiscard]] inline bool is_pnm_digit(std::uint8_t byte) { return byte >= '0' && byte <= '9'; }

}  // namespace shale
