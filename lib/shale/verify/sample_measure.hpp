#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "shale/data/schema.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// What is left of a sample that is compared: the hash of its canonical form, then what names the
/// field that differs:
///   16 bytes hash, for each field
///     u8 1 if it has a value
///     u64 length, u32 crc32c, u32 number of elements, u64 each side of a ragged tensor; or the 8
///     bytes of a number
///   and of each element of its lists, if they are not too many, u64 length and u32 crc32c.
[[nodiscard]] std::string measure_of(const Record& record, const Schema& schema);

/// The hash in a measure.
inline constexpr std::size_t kMeasuredHashBytes = 16;

/// How two samples differ, in the words of a finding.
struct MeasuredDifference {
  std::size_t field = 0;  ///< of the schema, the first that does
  std::string message, found = {}, expected = {};
};

/// Nullopt: in something that no measure has. `source`: what the sample is compared with, in words:
/// "the source file".
[[nodiscard]] std::optional<MeasuredDifference> difference_of(std::string_view found,
                                                              std::string_view expected,
                                                              const Schema& schema,
                                                              std::string_view source);

}  // namespace shale
