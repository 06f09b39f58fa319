#pragma once

#include <nanobind/nanobind.h>

namespace shale::python {

void bind_report(nanobind::module_& module);

}  // namespace shale::python
