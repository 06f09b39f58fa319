#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/labels/text_lines.hpp"

namespace shale {

/// One list of a split: a share of the samples, or those that a file names.
struct SplitPart {
  std::string name;  ///< that of a folder
  double share = 0;  ///< 0 where `file` has them
  std::string file = {};
};

/// How samples are divided among lists: plain data, nothing opened yet.
struct SplitRequest {
  std::vector<SplitPart> parts;  ///< all with shares, or all with files
  std::string group = {};        ///< samples with one value of this field are in one part
  /// Of files that are pipes, for this request and all that are copied from it.
  std::shared_ptr<ListCopies> copies = std::make_shared<ListCopies>();

  [[nodiscard]] bool is_empty() const { return parts.empty(); }
  [[nodiscard]] bool has_files() const { return !parts.empty() && !parts.front().file.empty(); }
};

/// `train=0.7,test=0.3`, `a=50%,b=1/2`, `train=FILE,test=FILE`, or names of files that begin with
/// one of kSplitNames: `trainlist01.txt,testlist01.txt`. Entries are separated by commas, `words`
/// are joined. Errors: Code::usage for a name that no split can have or that comes twice, a share
/// that is not a number between 0 and 1, shares that do not add up to 1, shares beside files.
[[nodiscard]] SplitRequest parse_split(const std::vector<std::string>& words);

}  // namespace shale
