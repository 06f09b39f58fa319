#include <nanobind/nanobind.h>

#include "python/bindings/commands_binding.hpp"
#include "python/bindings/errors_binding.hpp"
#include "python/bindings/map_binding.hpp"
#include "python/bindings/order_binding.hpp"
#include "python/bindings/reader_binding.hpp"
#include "python/bindings/report_binding.hpp"
#include "python/bindings/views_binding.hpp"
#include "python/bindings/writer_binding.hpp"

NB_MODULE(_shale, module) {
  // Workers of a DataLoader end without a tidy interpreter: what is alive then is not a leak.
  nanobind::set_leak_warnings(false);
  module.attr("version") = SHALE_VERSION;
  shale::python::bind_commands(module);
  shale::python::bind_report(module);
  shale::python::bind_errors();
  shale::python::bind_maps(module);
  shale::python::bind_orders(module);
  shale::python::bind_reader(module);
  shale::python::bind_views(module);
  shale::python::bind_writer(module);
}
