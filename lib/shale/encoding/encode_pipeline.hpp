#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "shale/base/events.hpp"
#include "shale/encoding/encode_batch.hpp"
#include "shale/encoding/sample_loader.hpp"

namespace shale {

/// What a pipeline may use.
struct PipelineLimits {
  unsigned jobs = 1;
  /// For samples in flight; with image work, what it takes too (TransformShares).
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> rows_a_shard = {};  ///< no record goes across a multiple of it
  std::uint64_t first = 0;     ///< number of the sample that the source gives next
  std::uint64_t left_out = 0;  ///< of those before it
};

/// Reads and encodes all samples of a source, with many workers, and hands them to `commit` in the
/// order of the source, in the calling thread. Errors: same as encode_batch, BatchCutter and
/// `commit`: the first in input order; Code::interrupted.
void encode_all(Source& source, const Encoding& encoding, const PipelineLimits& limits,
                const Events& events, const std::function<void(const EncodedSample&)>& commit);

/// The same for batches that come from elsewhere; `info` says what they are of.
void encode_all(BatchFeed& feed, const SourceInfo& info, const Encoding& encoding,
                const PipelineLimits& limits, const Events& events,
                const std::function<void(const EncodedSample&)>& commit);

/// Proves what was read of the input, before it is committed: by the digests of all its samples,
/// where the source knows them. Errors: Code::damaged at `input`.
void prove_input(const SourceInfo& source, const DatasetDigest& read, const std::string& input);

}  // namespace shale
