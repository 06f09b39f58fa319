#pragma once

#include <cstdint>
#include <optional>

#include "shale/base/bytes.hpp"
#include "shale/image/header_view.hpp"

namespace shale {

/// Codes of markers; all from kRst0 to kSoi stand alone, as kTem does.
inline constexpr std::uint8_t kTem = 0x01, kRst0 = 0xD0, kRst7 = 0xD7, kSoi = 0xD8, kEoi = 0xD9,
                              kSos = 0xDA;

/// The segments of a JPEG one after the other, those between scans included. The bytes are
/// untrusted and borrowed; the walk ends where they make no sense.
class JpegSegments {
 public:
  struct Segment {
    std::uint8_t code = 0;      ///< of the marker: 0xE1 is APP1
    std::uint64_t begin = 0;    ///< of the marker's FF
    std::uint64_t payload = 0;  ///< behind the length
    std::uint64_t end = 0;      ///< for a start of scan: where its entropy-coded data begin
  };
  explicit JpegSegments(Bytes jpeg) : jpeg_(jpeg), view_(jpeg, std::endian::big) {}
  /// The next segment; the last one is the end of image (0xD9) if there is one.
  [[nodiscard]] std::optional<Segment> next();
  /// Where the entropy-coded data behind a start of scan end. They are not looked at before.
  [[nodiscard]] std::uint64_t end_of_scan();
  /// Where the walk stands: once it has ended, the FF of the marker whose segment makes no sense,
  /// or the end of the bytes.
  [[nodiscard]] std::uint64_t at() const { return at_; }

 private:
  Bytes jpeg_;
  HeaderView view_;
  std::uint64_t at_ = 2;  // behind the SOI
  bool is_in_scan_ = false;
};

}  // namespace shale
