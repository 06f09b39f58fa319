#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/data/byte_swap.hpp"

namespace shale {

class PythonScanner;
struct StoredDType;

/// A NumPy element type, little-endian. Plain, as its array-protocol string: "|b1", "<i8", "<f4",
/// "<c16", "<U3"; where bytes have no order ("<i1", "<V2") it is kept as '|'. Structured, as repr()
/// of its list of columns:
///   [('a', '<f4'), ('b', '|S3', (2, 3)), ('c', [('d', '<i8')]), (('title', 'e'), '<f4'), ('',
///   '|V4')]
/// where a column without name is padding. Texts are UTF-8.
/// Source: numpy/lib/_format_impl.py, `dtype_to_descr`; numpy/_core/_internal.py, `_array_descr`.
class DType {
 public:
  DType() = default;
  /// Takes either text; a list in any spelling that Python takes for the same.
  /// Errors: Code::unsupported, by column, for what is not of fixed size, is an object, or is not
  /// little-endian; Code::damaged for an invalid list, or one that names a column twice;
  /// Code::limit for strings above kMostTextBytes and for more than kMostLevels of lists.
  [[nodiscard]] static DType parse(std::string_view descr);
  /// The structured type of columns (name, plain type) that lie one after the other; a type may be
  /// that of so many, "(2,)<u8".
  /// Errors: same as parse; Code::bug for a name that is not UTF-8.
  [[nodiscard]] static DType packed(
      std::span<const std::pair<std::string, std::string>> names_and_types);

  static constexpr std::size_t kMostTextBytes = 65'536;
  static constexpr int kMostLevels = 16;

  /// The one text that means this type, as NumPy prints it.
  [[nodiscard]] const std::string& descr() const { return descr_; }
  [[nodiscard]] std::uint64_t item_bytes() const { return item_bytes_; }
  [[nodiscard]] bool is_structured() const { return descr_.starts_with('['); }
  friend bool operator==(const DType&, const DType&) = default;

 private:
  friend StoredDType parse_stored_dtype(std::string_view descr);
  friend StoredDType read_stored_dtype(PythonScanner& from);
  DType(std::string descr, std::uint64_t item_bytes)
      : descr_(std::move(descr)), item_bytes_(item_bytes) {}

  std::string descr_;
  std::uint64_t item_bytes_ = 0;
};

/// A type whose elements may lie big-endian in their file.
struct StoredDType {
  DType dtype;                  ///< once the bytes are turned around
  std::vector<ByteSwap> swaps;  ///< by offset, adjacent ones of one width joined
};

/// As DType::parse, for any byte order: '<', '>', and '=' as a little-endian machine means it. The
/// halves of a complex number are turned apart, and the characters of a string.
/// Errors: same as DType::parse; Code::limit for more than 65,536 swaps an element.
[[nodiscard]] StoredDType parse_stored_dtype(std::string_view descr);
/// The same out of a longer literal, where a plain type is a string. Errors have its place.
[[nodiscard]] StoredDType read_stored_dtype(PythonScanner& from);

}  // namespace shale
