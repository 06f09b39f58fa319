#include "python/bindings/plain_objects.hpp"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace shale::python {

nb::object fs_text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

std::string raw(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::object numpy_dtype(const std::string& descr) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (!descr.starts_with('[')) return numpy.attr("dtype")(descr);
  const nb::object literal = nb::module_::import_("ast").attr("literal_eval")(descr);
  return nb::module_::import_("numpy.lib.format").attr("descr_to_dtype")(literal);
}

}  // namespace shale::python
