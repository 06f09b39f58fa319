#pragma once

#include <cstdint>
#include <memory>

#include "shale/format/format.hpp"

namespace shale {

/// A shard that is one file, in which the bytes of a record follow those of the one before.
/// `whole_bytes`: how large a file with so many bytes of records becomes, by zeros at its end;
/// null: nothing follows the records. Borrows the file.
[[nodiscard]] std::unique_ptr<ShardWriter> create_appended_shard(
    OutputFile& file, std::uint64_t (*whole_bytes)(std::uint64_t record_bytes) = nullptr);

}  // namespace shale
