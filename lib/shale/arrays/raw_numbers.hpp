#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/dtype.hpp"

namespace shale {

/// The option of manifests that says what the numbers of an input without a header were taken for:
/// "uint16,400", "uint16,400@256".
inline constexpr std::string_view kRawOption = "raw";

/// What --raw and --raw-offset say of files that hold numbers and nothing else.
struct RawNumbers {
  StoredDType type;
  std::vector<std::uint64_t> row = {};  ///< the sides of a row; empty: a number is one
  std::uint64_t offset = 0;             ///< of the first row, in each file
  std::string words = {};               ///< as the manifest has it

  [[nodiscard]] std::uint64_t row_bytes() const;
  [[nodiscard]] bool is_given() const { return !words.empty(); }
};

/// The words of --raw: a type, as number_dtype and NumPy's array protocol name it (">u2" and
/// ">uint16" are big-endian), then the sides of a row. Errors: Code::usage, naming what is wrong,
/// also for rows of 2^62 bytes and above.
[[nodiscard]] RawNumbers parse_raw(std::string_view text, std::uint64_t offset = 0);
/// What the manifest has; not given for an empty text. Errors: same as parse_raw.
[[nodiscard]] RawNumbers recorded_raw(std::string_view words);
/// As options of a command: "--raw uint16,400 --raw-offset 256".
[[nodiscard]] std::string options_of(const RawNumbers& raw);

}  // namespace shale
