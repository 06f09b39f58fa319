#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/format/format.hpp"

namespace shale::test {

/// A format of files of another tool that cut their keys in two, as USTAR does: a key that has a
/// folder is no run of bytes, and lies in the file of values. cut_format.cpp has the byte map.
extern const Format cut_format;

struct CutSample {
  std::string folder, name, image;  ///< the key: "folder/name"; without a folder "name"
};
[[nodiscard]] std::string cut_bytes(const std::vector<CutSample>& samples);

}  // namespace shale::test
