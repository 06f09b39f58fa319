#pragma once

#include <nanobind/nanobind.h>

namespace shale::python {

/// _shale.SampleWriter, on which shale.Writer is built.
void bind_writer(nanobind::module_& module);

}  // namespace shale::python
