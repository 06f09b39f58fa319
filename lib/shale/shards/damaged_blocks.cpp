#include "shale/shards/damaged_blocks.hpp"

#include <algorithm>
#include <set>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/io/output_file.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {
namespace {

// Of the bytes that the file should have; what is behind them is not asked for. A block that is cut
// has no hash.
std::vector<Hash128> hashes_of(const InputFile& file, std::uint64_t bytes,
                               const std::function<void()>& stop_if_asked) {
  std::vector<Hash128> hashes;
  std::vector<std::byte> block(std::min(bytes, kBlockBytes));
  for (std::uint64_t offset = 0; offset < bytes; offset += kBlockBytes) {
    stop_if_asked();
    block.resize(std::min(kBlockBytes, bytes - offset));
    const bool is_there = file.read_some(offset, block) == block.size();
    hashes.push_back(is_there ? xxh3_128(block) : Hash128{});
  }
  return hashes;
}

// Those that the blocks of one file of the shard must have.
std::vector<Hash128> expected_hashes(const DatasetPaths& paths, const ShardReader& shard,
                                     std::size_t file) {
  const ManifestShard& manifest = shard.shard();
  if (manifest.blocks.name.empty()) throw Error(Code::damaged, "there is no list of its blocks");
  prove_block_list(paths, manifest);
  std::uint64_t before = 0, all = 0;
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    if (i == file) before = all;
    all += block_count(manifest.files[i].bytes);
  }
  const std::vector<Hash128> hashes =
      read_block_list(InputFile(join_path(paths.lists, manifest.blocks.name)), all);
  const auto first = hashes.begin() + static_cast<std::ptrdiff_t>(before);
  return {first, first + static_cast<std::ptrdiff_t>(block_count(manifest.files[file].bytes))};
}

std::vector<bool> damaged_blocks_of(const DatasetPaths& paths, const ShardReader& shard,
                                    std::size_t number,
                                    const std::function<void()>& stop_if_asked) {
  const InputFile& file = shard.files()[number];
  const ManifestFile& expected = shard.shard().files[number];
  if (expected.hash == Hash128{}) return {};
  std::vector<Hash128> found = hashes_of(file, expected.bytes, stop_if_asked);
  if (hash_of_blocks(found) == expected.hash) return {};
  // What the page cache held may be wrong where the disk is right.
  file.drop_cache(0, file.size());
  found = hashes_of(file, expected.bytes, stop_if_asked);
  if (hash_of_blocks(found) == expected.hash) return {};
  const std::vector<Hash128> list = [&] {
    try {
      return expected_hashes(paths, shard, number);
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      throw file_hash_mismatch(hash_of_blocks(found), expected.hash)
          .error()
          .at(file.path())
          .because("the list of its blocks is damaged, too");
    }
  }();
  std::vector<bool> are_damaged;
  for (std::size_t i = 0; i < list.size(); ++i) are_damaged.push_back(found[i] != list[i]);
  return are_damaged;
}

}  // namespace

DamagedBlocks::DamagedBlocks(const DatasetPaths& paths, const ShardReader& shard,
                             const ShardLayout& layout, std::span<const std::size_t> fields,
                             const std::function<void()>& stop_if_asked)
    : are_damaged_(shard.files().size()) {
  for (const std::uint32_t part : layout.field_part)
    file_of_field_.push_back(layout.part_file[part]);
  std::set<std::size_t> files;
  for (const std::size_t field : fields) files.insert(file_of_field_[field]);
  for (const std::size_t file : files)
    are_damaged_[file] = damaged_blocks_of(paths, shard, file, stop_if_asked);
}

bool DamagedBlocks::are_none() const {
  return std::ranges::all_of(are_damaged_, [](const auto& blocks) { return blocks.empty(); });
}

std::uint64_t DamagedBlocks::first_damaged(std::size_t field, std::uint64_t begin,
                                           std::uint64_t end) const {
  const std::vector<bool>& blocks = are_damaged_[file_of_field_[field]];
  std::uint64_t block = begin / kBlockBytes;
  while (block < block_count(end) && block < blocks.size() && !blocks[block]) ++block;
  return blocks.empty() ? block_count(end) : block;
}

std::uint64_t DamagedBlocks::whole_rows(const ShardReader& shard,
                                        std::span<const std::size_t> fields, std::uint64_t row,
                                        std::uint64_t rows) const {
  for (const std::size_t field : fields) {
    const FieldPlace place = shard.fixed_column(field).place(row);
    const std::uint64_t end = place.offset + rows * place.length;
    const std::uint64_t whole_until = first_damaged(field, place.offset, end) * kBlockBytes;
    if (whole_until >= end) continue;
    rows = whole_until <= place.offset ? 0 : (whole_until - place.offset) / place.length;
  }
  return rows;
}

std::string DamagedBlocks::text(const ShardReader& shard, std::span<const std::size_t> fields,
                                std::uint64_t row) const {
  for (const std::size_t field : fields) {
    const FieldPlace place = shard.fixed_column(field).place(row);
    const std::uint64_t end = place.offset + place.length;
    const std::uint64_t block = first_damaged(field, place.offset, end);
    if (block >= block_count(end)) continue;
    const InputFile& file = shard.file_of_field(field);
    return fmt::format(
        "{}: byte {}: the block from here on is not as it was written{}", file.name(),
        block * kBlockBytes,
        file.size() < end ? fmt::format(": the file ends at byte {}", file.size()) : "");
  }
  return {};
}

}  // namespace shale
