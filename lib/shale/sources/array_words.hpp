#pragma once

#include <string>
#include <vector>

#include "shale/arrays/raw_numbers.hpp"
#include "shale/base/error.hpp"
#include "shale/base/events.hpp"

namespace shale {

/// Words of a command that may name arrays, as find_array_columns takes them.
struct ArrayWords {
  std::vector<std::string> words;
  std::vector<std::string> notes;  ///< what of a set is not read
};

/// The same words; a folder, pattern or list of arrays is the files in it. What has an index, in
/// `index_folder` or beside it, is read as that says: a set in its order, and of its files alone.
/// If `raw` is given, the files are of any kind, and have no index. Errors: same as files_of_set,
/// open_set_index and change_of_indexed; Code::damaged for a file that is not what was indexed.
[[nodiscard]] ArrayWords words_as_indexed(const std::vector<std::string>& words,
                                          const std::string& index_folder, const RawNumbers& raw,
                                          const Events& events);

}  // namespace shale
