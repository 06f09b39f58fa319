#include "shale/image/pnm_header.hpp"

#include "shale/image/header_facts.hpp"

namespace shale {
namespace {

bool is_space(std::uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

struct PnmNumber {
  std::uint64_t value = 0, end = 0;
  bool is_number = false;
};
PnmNumber read_number(const HeaderView& view, std::uint64_t at) {
  PnmNumber number{.value = 0, .end = skip_pnm_gap(view, at), .is_number = false};
  for (; number.end < view.size() && is_pnm_digit(view.u8(number.end)); ++number.end) {
    number.is_number = true;
    number.value =
        capped_sum(capped_product(number.value, 10), view.u8(number.end) - std::uint64_t{'0'});
  }
  return number;
}

}  // namespace

std::uint64_t skip_pnm_gap(const HeaderView& view, std::uint64_t at) {
  while (at < view.size()) {
    if (view.u8(at) == '#') {
      while (at < view.size() && view.u8(at) != '\n' && view.u8(at) != '\r') ++at;
    } else if (is_space(view.u8(at))) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

PnmHeader read_pnm_fields(const HeaderView& view) {
  PnmHeader pnm;
  pnm.kind = view.u8(1) - unsigned{'0'};
  const bool has_top_level = pnm.kind != 1 && pnm.kind != 4;
  std::uint64_t values[3] = {0, 0, 1};
  std::uint64_t at = 2;
  for (int i = 0; i < (has_top_level ? 3 : 2); ++i) {
    const PnmNumber number = read_number(view, at);
    at = number.end;
    values[i] = number.value;
    if (number.is_number && at < view.size()) continue;
    pnm.fault = at == view.size()
                    ? truncated("PNM header does not end within {} bytes", view.size())
                    : damaged("PNM header: no number at byte {}", at);
    return pnm;
  }
  pnm.width = values[0];
  pnm.height = values[1];
  pnm.top_level = values[2];
  pnm.pixels_begin = at + 1;
  if (pnm.width == 0 || pnm.height == 0) {
    pnm.fault = empty_frame(pnm.width, pnm.height);
  } else if (pnm.width > 0x7FFFFFFF || pnm.height > 0x7FFFFFFF) {
    pnm.fault = damaged("PNM header: {} x {} pixels", pnm.width, pnm.height);
  } else if (pnm.top_level == 0 || pnm.top_level > 65535) {
    pnm.fault = damaged("PNM header: largest level {}, at most 65535", pnm.top_level);
  }
  return pnm;
}

}  // namespace shale
