#pragma once

#include <nanobind/nanobind.h>

namespace shale::python {

/// shale._shale.Reader: samples of a dataset as Python objects.
void bind_reader(nanobind::module_& module);

}  // namespace shale::python
