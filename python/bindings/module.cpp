#include <nanobind/nanobind.h>

NB_MODULE(_shale, module) { module.attr("version") = SHALE_VERSION; }
