#pragma once

#include <nanobind/nanobind.h>

namespace shale::python {

/// shale.convert, verify, index, info and formats. Each returns what the program prints with
/// --json, as text, and what it would say besides.
void bind_commands(nanobind::module_& module);

}  // namespace shale::python
