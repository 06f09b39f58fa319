#pragma once

#include "shale/format/layout.hpp"

namespace shale::lmdb {

/// The layouts that are written: rows of lmdb_format.
extern const Layout* const kWrittenLayouts[5];

}  // namespace shale::lmdb
