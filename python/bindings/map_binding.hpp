#pragma once

#include <nanobind/nanobind.h>

namespace shale::python {

/// Adds what shale.lmdb reads with: open_map, KeyMap, KeyCursor. Errors of the library become those
/// of shale.lmdb.
void bind_maps(nanobind::module_& module);

}  // namespace shale::python
