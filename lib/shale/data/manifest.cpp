#include "shale/data/manifest.hpp"

namespace shale {

std::vector<const ManifestFile*> ManifestShard::lists() const {
  std::vector<const ManifestFile*> lists;
  for (const ManifestFile* list : {&index, &elements, &blocks}) {
    if (!list->name.empty()) lists.push_back(list);
  }
  return lists;
}

std::uint64_t ManifestShard::list_bytes() const {
  return index.bytes + elements.bytes + blocks.bytes;
}

}  // namespace shale
