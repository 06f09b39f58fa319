#include "formats/hdf5/hdf5_payload.hpp"

#include <algorithm>

#include "shale/base/checksum.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/value_checksum.hpp"

namespace shale {
namespace {

// Bytes at the end that begin a UTF-8 sequence and may be continued by those that follow.
std::size_t cut_tail(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<std::uint8_t>(text[text.size() - back]);
    const std::size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    if (needs > back) return back;
    if (byte >= 0xC0 || byte < 0x80) return 0;
  }
  return 0;
}

}  // namespace

std::uint32_t Hdf5Payload::crc_of(const FieldPlace& place) {
  return crc32c_of_place(place, kWindow, pace_, [this](std::uint64_t offset, std::uint64_t length) {
    return window_.view(offset, length);
  });
}

bool Hdf5Payload::is_text(const FieldPlace& place) {
  for (std::uint64_t done = 0; done < place.length;) {
    const std::uint64_t run = std::min(kWindow, place.length - done);
    if (done > 0) pace_.step();
    const bool is_last = done + run == place.length;
    std::string_view piece = as_text(window_.view(place.offset + done, run));
    if (!is_last) piece.remove_suffix(cut_tail(piece));
    if (!is_utf8(piece)) return false;
    done += piece.size();
  }
  return true;
}

}  // namespace shale
