#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/stored_tensor.hpp"
#include "shale/io/input_file.hpp"

// Arrays that Python pickled: a dict of them by name, with lists of numbers and of strings beside
// them, as the batches of CIFAR are; or one array. Parsed by shale/wire/pickle_reader.hpp: nothing
// is imported or called.

namespace shale {

/// One entry of the dict.
struct PickledColumn {
  StoredTensor tensor;  ///< of an array: its elements lie in the file
  /// Of a list, and of an array of protocol 2: its elements, which lie nowhere else.
  std::vector<std::byte> elements = {};
  bool is_apart = false;  ///< it has `elements`
};

struct PickledColumns {
  std::vector<PickledColumn> columns;    ///< those that cannot be read have an obstacle
  std::vector<std::string> single = {};  ///< by name: numbers and strings of the file as a whole
  std::vector<std::string> others = {};  ///< by name: what is not a column
};

/// True for what begins and ends as a pickle of protocol 2 and above does. Errors: Code::io.
[[nodiscard]] bool may_be_pickle(const InputFile& file, Bytes begin);

/// Memory: 64 bytes for each value that is not in an array, and the elements of lists. Errors:
/// Code::unsupported for pickles of something else; same as read_pickle.
[[nodiscard]] PickledColumns read_pickled_columns(const InputFile& file);

}  // namespace shale
