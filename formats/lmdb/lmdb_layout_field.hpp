#pragma once

#include <vector>

#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"

namespace shale::lmdb {

/// A field of one value: what it is, and where.
struct LayoutField {
  Field field;
  IndexCell cell;
  std::vector<FieldPlace> elements = {};  ///< of a list
};

}  // namespace shale::lmdb
