#include <nanobind/nanobind.h>

#include "python/bindings/errors_binding.hpp"
#include "python/bindings/reader_binding.hpp"

NB_MODULE(_shale, module) {
  module.attr("version") = SHALE_VERSION;
  shale::python::bind_errors(module);
  shale::python::bind_reader(module);
}
