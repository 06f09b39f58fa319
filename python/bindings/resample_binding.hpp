#pragma once

#include <nanobind/nanobind.h>

namespace shale::python {

/// _shale.resample: what python/shale/resample.py stands on.
void bind_resample(nanobind::module_& module);

}  // namespace shale::python
