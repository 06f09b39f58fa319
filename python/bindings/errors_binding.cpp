#include <exception>
#include <string>

#include <nanobind/stl/string.h>

#include "python/bindings/bindings.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"

namespace nb = nanobind;

namespace shale::python {
namespace {

const char* class_of(Code code) {
  switch (code) {
    case Code::usage:
      return "UsageError";
    case Code::unsupported:
      return "UnsupportedError";
    case Code::not_found:
      return "NotFoundError";
    case Code::io:
      return "StorageError";
    case Code::damaged:
      return "DamagedError";
    case Code::bad_content:
      return "ContentError";
    case Code::schema:
      return "SchemaError";
    case Code::limit:
      return "LimitError";
    case Code::mismatch:
    case Code::exists:
      return "MismatchError";
    case Code::interrupted:
    case Code::bug:
      break;
  }
  return "Error";
}

nb::object text_of(const std::string& bytes) {
  return bytes.empty() ? nb::none() : text_of_bytes(bytes);
}

nb::object exception_of(const Error& error, const std::string& shard) {
  nb::object made =
      call_python(import_name("shale.errors", class_of(error.code())), text_of(error.what()));
  made.attr("file") = text_of(error.file());
  if (error.offset()) made.attr("offset") = *error.offset();
  if (error.sample()) {
    made.attr("key") = text_of(error.sample()->key);
    if (error.sample()->index) made.attr("sample") = *error.sample()->index;
  }
  made.attr("shard") = text_of(shard);
  made.attr("hint") = text_of(error.hint());
  return made;
}

// What a signal's handler has raised in the meantime goes first.
void set_python_error(const Error& error, const std::string& shard) {
  if (PyErr_Occurred() != nullptr) return;
  const nb::object made = exception_of(error, shard);
  PyErr_SetObject(made.type().ptr(), made.ptr());
}

}  // namespace

void raise_as_python(const Error& error, const std::string& shard) {
  set_python_error(error, shard);
  throw nb::python_error();
}

void bind_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_python_error(error, {});
    }
  });
}

}  // namespace shale::python
