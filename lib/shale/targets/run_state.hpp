#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/data/digest.hpp"
#include "shale/data/manifest.hpp"
#include "shale/format/source.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {

/// The numbers that did not fit the types given by --cast, and the first of them.
struct UnfitCount {
  std::uint64_t count = 0;
  std::uint64_t number = 0;  ///< of the sample that has the first one
  std::string key = {};      ///< of that sample
  std::string first = {};    ///< in words
  friend bool operator==(const UnfitCount&, const UnfitCount&) = default;
};

/// How far a conversion was when a shard was closed: with the shards before it, all that is needed
/// to go on from there.
struct RunState {
  std::uint64_t samples = 0;  ///< of the source, whether written or left out
  std::uint64_t bad = 0;      ///< of them: with bad content
  std::uint64_t skipped = 0;  ///< of them: left out
  DatasetDigest read;         ///< of the source, as far as it was read
  /// With image work: of the samples that were written, as they were read.
  std::optional<DatasetDigest> taken = {};
  std::optional<StreamPoint> stream = {};  ///< how far a stream was read, byte by byte
  UnfitCount unfit = {};                   ///< of the samples that were written
  DurableRows skipped_list, images_list;
  std::optional<ImageReport> images;
  std::optional<std::int64_t> label;  ///< of all samples in the shard, where it holds one class
};

/// One line without tabs, for the journal, and back. Errors: Code::damaged.
[[nodiscard]] std::string state_line(const RunState& state);
[[nodiscard]] RunState state_from_line(std::string_view line);

}  // namespace shale
