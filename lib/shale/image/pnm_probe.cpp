//  PNM           "P1".."P6", then in decimal, between white space and #comments: width, height and
//                (not P1, P4) the largest level
//  P1 P2 P3      plain: levels in decimal, P1 single digits 0 and 1; P3 three per pixel
//  P4 P5 P6      raw: one white space byte, then rows of packed bits, of u8, or of u16 (big-endian,
//                if the largest level is above 255); P6 three per pixel. Another image may follow.
//  Source: Netpbm, pbm(5), pgm(5), ppm(5).

#include <fmt/format.h>

#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"

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

std::uint64_t raw_end(const PnmHeader& pnm) {
  const std::uint64_t level_bytes = pnm.top_level > 255 ? 2 : 1;
  const std::uint64_t row_bytes = pnm.kind == 4   ? (pnm.width + 7) / 8
                                  : pnm.kind == 5 ? pnm.width * level_bytes
                                                  : pnm.width * level_bytes * 3;
  return capped_sum(pnm.pixels_begin, capped_product(row_bytes, pnm.height));
}

// Plain levels are only known to be all there by counting them.
void check_plain(HeaderFacts& facts, const HeaderView& view, const PnmHeader& pnm) {
  const std::uint64_t wanted = capped_product(pnm.width * pnm.height, pnm.kind == 3 ? 3 : 1);
  std::uint64_t count = 0;
  std::uint64_t at = skip_pnm_gap(view, pnm.pixels_begin);
  while (at < view.size() && count < wanted && is_pnm_digit(view.u8(at))) {
    ++count;
    if (pnm.kind == 1) {
      ++at;
    } else {
      while (is_pnm_digit(view.u8(at))) ++at;
    }
    at = skip_pnm_gap(view, at);
  }
  if (count == wanted) {
    facts.has_trailing_bytes = at != view.size();
  } else if (at == view.size()) {
    facts.info.fault = truncated("{} levels of pixels, its header says {}", count, wanted);
  } else {
    facts.info.fault = damaged("PNM without a level at byte {}", at);
  }
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

HeaderFacts read_pnm_header(Bytes bytes) {
  const HeaderView view(bytes);
  PnmHeader pnm = read_pnm_fields(view);
  HeaderFacts facts;
  ImageInfo& info = facts.info;
  info.fault = std::move(pnm.fault);
  if (!info.fault.empty()) return facts;
  info.width = static_cast<std::uint32_t>(pnm.width);
  info.height = static_cast<std::uint32_t>(pnm.height);
  info.color = pnm.kind % 3 == 1 ? "bilevel" : pnm.kind % 3 == 2 ? "gray" : "rgb";
  info.bits = pnm.kind % 3 == 1 ? 1 : pnm.top_level > 255 ? 16 : 8;
  if (pnm.kind <= 3) {
    check_plain(facts, view, pnm);
    return facts;
  }
  const std::uint64_t end = raw_end(pnm);
  if (end > bytes.size()) {
    info.fault = truncated_file(bytes.size(), end);
  } else {
    facts.has_trailing_bytes = end != bytes.size();
  }
  return facts;
}

}  // namespace shale
