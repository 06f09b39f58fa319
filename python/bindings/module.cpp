#include "python/bindings/bindings.hpp"

NB_MODULE(_shale, module) {
  // Workers of a DataLoader end without a tidy interpreter: what is alive then is not a leak.
  nanobind::set_leak_warnings(false);
  module.attr("version") = SHALE_VERSION;
  shale::python::bind_commands(module);
  shale::python::bind_errors();
  shale::python::bind_maps(module);
  shale::python::bind_orders(module);
  shale::python::bind_reader(module);
  shale::python::bind_views(module);
  shale::python::bind_writer(module);
}
