#include "shale/io/file_summary.hpp"

#include <algorithm>

namespace shale {

FileSummary summarize_file(const InputFile& file,
                           const std::function<void(std::uint64_t bytes)>& progress) {
  FileSummary summary;
  summary.bytes = file.size();
  std::vector<std::byte> block(std::min(file.size(), kBlockBytes));
  for (std::uint64_t offset = 0; offset < file.size(); offset += kBlockBytes) {
    if (progress) progress(offset);
    block.resize(std::min(kBlockBytes, file.size() - offset));
    file.read_exact(offset, block);
    summary.blocks.push_back(xxh3_128(block));
  }
  summary.hash = hash_of_blocks(summary.blocks);
  return summary;
}

}  // namespace shale
