#include "tools/split_paths.hpp"

#include "shale/base/path_text.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/shards/place.hpp"

namespace shale::tools {

std::vector<SplitPath> splits_at(const std::string& directory) {
  std::vector<SplitPath> splits;
  for (const std::string& name : splits_in(directory))
    splits.push_back({name, join_path(directory, name)});
  if (!splits.empty()) return splits;
  for (const SetOfSplit& split : files_of_splits(directory))
    splits.push_back({split.split, split.word});
  return splits;
}

}  // namespace shale::tools
