#pragma once

#include <memory>
#include <span>

#include "shale/format/format.hpp"

namespace shale {

/// One frame: header, Example, trailer, as the record's only part. Row places count from its first
/// byte. Errors: Code::limit, naming the sample, for an Example of 2 GiB or more and for a key
/// longer than 64 KiB.
[[nodiscard]] Record encode_record(const Sample& sample, const Schema& schema,
                                   const OptionSet& options);

[[nodiscard]] std::unique_ptr<ShardWriter> create_record_shard(std::span<OutputFile> files,
                                                               const Schema& schema,
                                                               const OptionSet& options);

}  // namespace shale
