#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/dtype.hpp"
#include "shale/format/archive_file.hpp"

// Files that are a sample each and hold arrays with names: .npz, .pt, .safetensors.

namespace shale {

/// True for the suffix, in lower case and without a dot, of such a file.
[[nodiscard]] bool holds_named_arrays(std::string_view suffix);

/// One array of such a file.
struct SampleArray {
  std::string member;  ///< its name in the file
  std::string field;   ///< the field that it becomes
  DType dtype = {};
  std::vector<std::uint64_t> shape = {};
  bool is_npy = false;  ///< its bytes are an .npy file; else its elements, little-endian, C order
  std::uint64_t bytes = 0;  ///< of what lies there
  ArchivedFile place = {};
};

struct SampleArrays {
  std::vector<SampleArray> arrays;  ///< in the order of the file
  /// Arrays that cannot be read in place: of objects, big-endian tensors, views with strides.
  std::vector<SampleArray> unread = {};
  std::vector<std::string> left_out = {};  ///< other values, by name
};

/// What a file of `bytes` that was modified at `modified_ns` (0: not compared) holds. Reads its
/// directory, and the headers of its arrays. Errors: Code::mismatch if the file has changed since;
/// Code::damaged; Code::unsupported for a file of another kind; Code::io.
[[nodiscard]] SampleArrays arrays_of_sample(const std::string& path, std::uint64_t bytes,
                                            std::int64_t modified_ns);

}  // namespace shale
