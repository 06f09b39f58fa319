#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "shale/base/bytes.hpp"
#include "shale/base/finding.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// What a sample of a dataset should hold.
struct ExpectedSample {
  std::uint64_t bytes;
  /// Fills the span with the bytes from that offset on.
  std::function<void(std::uint64_t offset, std::span<std::byte> into)> read;
  std::string_view what;  ///< "the source file": what it is, for messages
};

/// A sample that is in memory, which outlives the result.
[[nodiscard]] ExpectedSample expected_of(Bytes bytes, std::string_view what);

/// What differs first from the bytes at `place` of `file`, with found and expected; file, shard,
/// row and key are the caller's. Nullopt: nothing. Errors: Code::io; those of `expected.read`.
[[nodiscard]] std::optional<Finding> compare_sample(const InputFile& file, const FieldPlace& place,
                                                    const ExpectedSample& expected);

}  // namespace shale
