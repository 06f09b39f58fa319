#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shale {

/// What a field holds. The numbers are part of the canonical sample (docs/digests.md): they never
/// change.
enum class Kind : std::uint8_t { bytes = 0, text = 1, integer = 2, real = 3, tensor = 4, list = 5 };

[[nodiscard]] std::string_view name_of(Kind kind);

/// A side of a shape that differs from sample to sample: "?" in texts, null in JSON.
inline constexpr std::uint64_t kFreeSide = ~std::uint64_t{0};

/// A field of every sample of a dataset. The key is not among them.
struct FieldInfo {
  std::string name;
  Kind kind = Kind::bytes;
  /// NumPy's name of the elements of a tensor, little-endian: "<f4", "|u1". Of an integer or real:
  /// of the array that it came from; empty: int64 and float64.
  std::string dtype = {};
  /// Of a tensor, of one sample: (28, 28); (kFreeSide, 4) where each sample has its own first side.
  std::vector<std::uint64_t> shape = {};
  bool is_optional = false;     ///< a sample may lack the value
  Kind elements = Kind::bytes;  ///< of a list: bytes or text
  bool is_json = false;         ///< of kind text: it is JSON
};

/// A value that was read: bytes, or a tensor's elements in C order, little-endian; text in UTF-8;
/// an integer; a real; the elements of a list; monostate where a file of another tool lacks it.
using OwnedValue = std::variant<std::vector<std::byte>, std::string, std::int64_t, double,
                                std::vector<std::vector<std::byte>>, std::monostate>;

/// A value to be written, in the same order. Bytes, texts and tensors may be given as either of the
/// first two. All bytes are borrowed.
using ValueView = std::variant<std::span<const std::byte>, std::string_view, std::int64_t, double,
                               std::vector<std::span<const std::byte>>>;

}  // namespace shale
