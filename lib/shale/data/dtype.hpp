#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shale {

/// Numbers inside of an element, one after the other, whose bytes are to be turned around.
struct ByteSwap {
  std::uint64_t offset;
  std::uint32_t width;
  std::uint64_t count;
};

/// A NumPy element type as its array-protocol string, little-endian or byteless: "|b1", "<i8",
/// "<f4", "<c16", "<U3". Where bytes have no order ("<i1", "<V2") it is kept as '|'.
/// Source: numpy/lib/_format_impl.py, `descr`.
class DType {
 public:
  DType() = default;
  /// Errors: Code::unsupported, with the text, for anything that is not a fixed-size, non-object,
  /// little-endian dtype.
  [[nodiscard]] static DType parse(std::string_view descr);

  [[nodiscard]] const std::string& descr() const { return descr_; }
  [[nodiscard]] std::uint64_t item_bytes() const { return item_bytes_; }
  friend bool operator==(const DType&, const DType&) = default;

 private:
  std::string descr_;
  std::uint64_t item_bytes_ = 0;
};

}  // namespace shale
