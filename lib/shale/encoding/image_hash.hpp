#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shale/base/checksum.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/format.hpp"

// The hash by which two images of a set, or lists of them, are proved to be the same. Of a first
// field of kind bytes it is the head of the sample (HeadedDigest), which costs nothing where the
// digest is taken anyway; of any other it is xxh3-128 of the stored bytes.

namespace shale {

/// True if the hash of this field's values is the head of their samples.
[[nodiscard]] bool is_hashed_as_head(const Schema& schema, std::size_t field);

/// Takes the hash of a value that is stored as so many bytes, which are to be added.
[[nodiscard]] Hasher128 begin_image_hash(const Schema& schema, std::size_t field,
                                         std::uint64_t bytes);

/// The hash of a value that is_hashed_as_head does not hold for, in a record that was encoded;
/// nullopt where its bytes are not in memory, or it is absent.
[[nodiscard]] std::optional<Hash128> image_hash_of(const Record& record, const ShardLayout& layout,
                                                   std::size_t field);

}  // namespace shale
