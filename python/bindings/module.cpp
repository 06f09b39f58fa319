#include <nanobind/nanobind.h>

#include "map_binding.hpp"

NB_MODULE(_shale, module) {
  module.attr("version") = SHALE_VERSION;
  bind_maps(module);
}
