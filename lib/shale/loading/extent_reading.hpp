#pragma once

#include <cstdint>
#include <span>

#include "shale/base/checksum.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/aligned_buffer.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// One extent of an open file, to be read whole.
struct Extent {
  const InputFile* file = nullptr;
  std::uint64_t offset = 0;
  std::span<std::byte> into;
  std::span<const Hash128> blocks = {};  ///< of the whole file, for read_proved
};

/// Reads one. Errors: same as read_extents.
void read_extent(const Extent& extent);

/// Reads them all, many at a time. They must be in the order of files and offsets. Neighbours are
/// read as one: small ones are copied from there, larger ones go to their places. Memory: the
/// arena, up to 4 MiB, if there are neighbours. Errors: Code::damaged for a file
/// that ends too early; Code::io; both with file and offset.
void read_extents(std::span<const Extent> extents, BatchReader& reader, AlignedBuffer& arena);

/// The same for files that go_direct() was called on. Extents that share or touch pages are read as
/// one. Memory: the arena, up to 16 MiB.
void read_extents_direct(std::span<const Extent> extents, BatchReader& reader,
                         AlignedBuffer& arena);

/// One extent as it stands on the disk, whatever the page cache holds, as far as the file system
/// allows that. Errors: same as read_extents.
void read_past_cache(const Extent& extent);

}  // namespace shale
