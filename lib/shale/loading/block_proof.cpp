#include "shale/loading/block_proof.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/index_file.hpp"
#include "shale/shards/rebuild_hint.hpp"

namespace shale {
namespace {

constexpr std::size_t kBlocksAtOnce = 16;

// A block of one file, and the extents [first, last) among which are all that it holds bytes of.
struct Block {
  const InputFile* file;
  std::uint64_t number;
  std::size_t first, last;

  [[nodiscard]] std::uint64_t begin() const { return number * kBlockBytes; }
  [[nodiscard]] std::uint64_t length() const {
    return std::min(kBlockBytes, file->size() - begin());
  }
};

// Each block once, in the order of files and offsets.
std::vector<Block> blocks_of(std::span<const Extent> extents) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent& extent = extents[i];
    if (extent.into.empty()) continue;
    const std::uint64_t last = (extent.offset + extent.into.size() - 1) / kBlockBytes;
    for (std::uint64_t number = extent.offset / kBlockBytes; number <= last; ++number) {
      const bool is_new =
          blocks.empty() || blocks.back().file != extent.file || blocks.back().number < number;
      if (is_new) {
        blocks.push_back({extent.file, number, i, i + 1});
      } else {
        // Extents ascend, so all blocks from here to the last one have been taken.
        blocks[blocks.size() - 1 - (blocks.back().number - number)].last = i + 1;
      }
    }
  }
  return blocks;
}

void prove(const Block& block, std::span<std::byte> bytes, const Extent& about) {
  const Hash128& expected = about.blocks[block.number];
  if (xxh3_128(bytes) == expected) return;
  // What the page cache held may be wrong where the disk is right.
  read_past_cache({block.file, block.begin(), bytes});
  const Hash128 found = xxh3_128(bytes);
  if (found == expected) return;
  throw block_hash_mismatch(found, expected)
      .error()
      .at(block.file->path(), about.offset)
      .hint("run 'shale verify' to list every damaged block, and the rows in it");
}

void copy_from(const Block& block, Bytes bytes, std::span<const Extent> extents) {
  for (std::size_t i = block.first; i < block.last; ++i) {
    const Extent& extent = extents[i];
    const std::uint64_t begin = std::max(extent.offset, block.begin());
    const std::uint64_t end =
        std::min(extent.offset + extent.into.size(), block.begin() + bytes.size());
    if (begin >= end) continue;
    std::ranges::copy(bytes.subspan(begin - block.begin(), end - begin),
                      extent.into.subspan(begin - extent.offset).begin());
  }
}

// Errors: same as prove_block_list.
InputFile open_block_list(const DatasetPaths& paths, const ManifestShard& shard) try {
  return InputFile(join_path(paths.lists, shard.blocks.name));
} catch (const Error& error) {
  if (error.code() == Code::not_found) prove_block_list(paths, shard);
  throw;
}

}  // namespace

BlockHashes::BlockHashes(const DatasetPaths& paths, const ManifestShard& shard) {
  for (const ManifestFile& file : shard.files)
    first_.push_back(first_.back() + block_count(file.bytes));
  const InputFile list = open_block_list(paths, shard);
  hashes_ = read_block_list(list, first_.back());
  for (std::size_t i = 0; i < shard.files.size(); ++i) {
    const Hash128 found = hash_of_blocks(of_file(i));
    if (found == shard.files[i].hash) continue;
    throw block_list_mismatch(shard.files[i].name, found, shard.files[i].hash)
        .error()
        .at(list.path())
        .hint(rebuild_hint(paths.lists, join_path(paths.shards, shard.files[i].name)));
  }
}

void read_proved(std::span<const Extent> extents, BatchReader& reader, AlignedBuffer& arena) {
  const std::vector<Block> blocks = blocks_of(extents);
  const std::span<std::byte> memory =
      arena.require(kBlockBytes * std::min(blocks.size(), kBlocksAtOnce));
  for (std::size_t done = 0; done < blocks.size(); done += kBlocksAtOnce) {
    const std::span<const Block> group =
        std::span(blocks).subspan(done, std::min(kBlocksAtOnce, blocks.size() - done));
    std::vector<ReadRequest> requests;
    // Whole blocks of memory, also behind the end of a file: direct reads want whole pages.
    for (const Block& block : group) {
      requests.push_back({.descriptor = block.file->descriptor(),
                          .offset = block.begin(),
                          .into = memory.subspan(requests.size() * kBlockBytes, kBlockBytes)});
    }
    const std::vector<ReadResult> results = reader.read(requests);
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Extent& about = extents[group[i].first];
      const std::span<std::byte> bytes = requests[i].into.first(group[i].length());
      require_all(results[i], group[i].file->path(), about.offset, group[i].length());
      prove(group[i], bytes, about);
      copy_from(group[i], bytes, extents);
    }
  }
}

}  // namespace shale
