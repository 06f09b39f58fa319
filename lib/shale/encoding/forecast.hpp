#pragma once

#include <cstdint>
#include <optional>

#include "shale/encoding/encode_batch.hpp"
#include "shale/format/format.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// Refuses, before anything is written, an input whose largest sample no shard of `shard_bytes` and
/// no budget of `memory_bytes` for samples can hold, or the format itself cannot, if a list tells
/// its size, or all are rows of one size. Errors: Code::limit.
void refuse_too_large(const SourceInfo& info, const Format& format, const OptionSet& options,
                      std::uint64_t shard_bytes, std::uint64_t memory_bytes);

/// How many shards a source would give, and of how many bytes with their indexes and block lists.
struct ShardForecast {
  std::uint64_t shards = 0, file_bytes = 0;
  std::uint64_t data_bytes = 0;  ///< without indexes and block lists
  /// Of the values that are not numbers, as a manifest counts them; nullopt: with image work.
  std::optional<std::uint64_t> payload_bytes = {};
  std::uint64_t left_out = 0;  ///< samples that are damaged, or lack something
  /// With image work: on how many samples it was done to estimate the rest. Else nothing is
  /// estimated.
  std::optional<std::uint64_t> measured = {};
};

/// Computed from sizes alone: no payload is read. Exact but for a few bytes of length prefixes a
/// sample. Errors: Code::limit naming a sample that no shard can hold; those of refuse_incomplete.
[[nodiscard]] ShardForecast forecast_shards(Source& source, const Format& format,
                                            std::uint64_t shard_bytes, std::uint64_t shard_samples,
                                            OnError on_error = OnError::skip);

/// The same of a source with image work, whose results have sizes that nobody knows beforehand: it
/// is done on some 32 samples, evenly spread, and the rest is taken to be like them. Raw pixels are
/// exact. `memory_bytes`: for samples in flight. Errors: same as encode_batch, but bad images are
/// passed over; Code::limit; those of refuse_incomplete.
[[nodiscard]] ShardForecast forecast_transformed(Source& source, const Format& format,
                                                 std::uint64_t shard_bytes,
                                                 std::uint64_t shard_samples,
                                                 std::uint64_t memory_bytes,
                                                 OnError on_error = OnError::skip);

}  // namespace shale
