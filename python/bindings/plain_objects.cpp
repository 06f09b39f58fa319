#include "python/bindings/plain_objects.hpp"

#include <nanobind/stl/string.h>

#include "python/bindings/interpreter.hpp"

namespace nb = nanobind;

namespace shale::python {

nb::object fs_text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

std::string raw(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

std::vector<std::string> raw_words(const nb::list& words) {
  std::vector<std::string> texts;
  for (const nb::handle word : words) texts.push_back(raw(nb::cast<nb::bytes>(word)));
  return texts;
}

nb::object numpy_dtype(const std::string& descr) {
  if (!descr.starts_with('[')) return call_python(import_name("numpy", "dtype"), descr);
  const nb::object literal = call_python(import_name("ast", "literal_eval"), descr);
  return call_python(import_name("numpy.lib.format", "descr_to_dtype"), literal);
}

}  // namespace shale::python
