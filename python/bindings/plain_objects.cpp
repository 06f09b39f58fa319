#include "python/bindings/plain_objects.hpp"

#include <nanobind/stl/string.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

#include "python/bindings/interpreter.hpp"

namespace nb = nanobind;

namespace shale::python {

nb::object fs_text(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

std::string raw(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::object text_of_bytes(const std::string& bytes) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (text == nullptr) throw nb::python_error();
  return nb::steal(text);
}

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

FreshBytes::FreshBytes(std::uint64_t size)
    : object(nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)))) {
  if (!object.is_valid()) throw nb::python_error();
  memory = {reinterpret_cast<std::byte*>(PyBytes_AsString(object.ptr())), size};
}

void ReleaseBuffer::operator()(Py_buffer* view) const {
  const std::unique_ptr<Py_buffer> freed(view);
  if (view->obj != nullptr) or_parked([view] { PyBuffer_Release(view); });
}

HeldBuffer held_buffer(nb::handle object, int flags) {
  HeldBuffer view(std::make_unique<Py_buffer>().release());
  if (or_parked([&] { return PyObject_GetBuffer(object.ptr(), view.get(), flags); }) != 0)
    return nullptr;
  return view;
}

PixelOrder pixel_order_named(const std::string& name) {
  if (name == "hwc") return PixelOrder::hwc;
  if (name == "chw") return PixelOrder::chw;
  throw Error(Code::usage, "order is '{}', expected 'hwc' or 'chw'", printable(name));
}

}  // namespace shale::python
