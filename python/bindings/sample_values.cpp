#include "python/bindings/sample_values.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/format.hpp"

#include "python/bindings/interpreter.hpp"

namespace nb = nanobind;

namespace shale::python {
namespace {

std::string text_of_object(nb::handle object) {
  const nb::object text = nb::steal(PyObject_Str(object.ptr()));
  Py_ssize_t length = 0;
  const char* const utf8 = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), &length) : nullptr;
  if (utf8 != nullptr) return {utf8, static_cast<std::size_t>(length)};
  PyErr_Clear();
  return "?";
}

// "int", or "an array of float64 (3, 224)".
std::string found_in(nb::handle value) {
  if (value.is_none()) return "None";
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "shape")) {
    return "an array of " + text_of_object(value.attr("dtype")) + " " +
           text_of_object(value.attr("shape"));
  }
  return text_of_object(value.type().attr("__name__"));
}

Error does_not_fit(const InputField& field, std::string_view found, std::string_view expected) {
  return Error(Code::schema, "field '{}' is {}, expected {}", printable(field.field.name),
               printable(found), expected);
}

std::string_view expected_of(const Field& field) {
  switch (field.kind) {
    case Kind::bytes:
      return "bytes";
    case Kind::text:
      return "str";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::list:
      return "a list of bytes";
    case Kind::tensor:
      break;
  }
  return "an array";
}

// Of a call of Python that has failed because of what the value is. Other errors are the caller's.
void expect_python_error(PyObject* type) {
  if (PyErr_ExceptionMatches(type) == 0) throw nb::python_error();
  PyErr_Clear();
}

// NumPy's bool is not an index, unlike Python's.
bool is_numpy_bool(nb::handle value) {
  return nb::hasattr(value, "dtype") && nb::hasattr(value, "ndim") &&
         text_of_object(value.attr("dtype")) == "bool" && nb::cast<int>(value.attr("ndim")) == 0;
}

std::int64_t integer_of(nb::handle value, const InputField& field, nb::handle classes) {
  if (!classes.is_none() && PyUnicode_Check(value.ptr())) {
    const nb::handle label = PyDict_GetItemWithError(classes.ptr(), value.ptr());
    if (label.is_valid()) return nb::cast<std::int64_t>(label);
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    throw does_not_fit(field, "'" + text_of_object(value) + "'", "the name of one of the classes");
  }
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    expect_python_error(PyExc_TypeError);
    if (is_numpy_bool(value)) index = nb::steal(PyLong_FromLong(PyObject_IsTrue(value.ptr())));
  }
  if (!index.is_valid()) {
    throw does_not_fit(field, found_in(value), classes.is_none() ? "int" : "int or a class's name");
  }
  const long long number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    expect_python_error(PyExc_OverflowError);
    throw does_not_fit(field, text_of_object(index), "-2^63 to 2^63 - 1");
  }
  if (classes.is_none()) return number;
  const auto most = static_cast<std::int64_t>(PyDict_Size(classes.ptr()));
  if (number >= 0 && number < most) return number;
  throw does_not_fit(field, std::to_string(number),
                     fmt::format("the label of a class, 0 to {}", most - 1));
}

double real_of(nb::handle value, const InputField& field) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) expect_python_error(PyExc_TypeError);
    PyErr_Clear();
    throw does_not_fit(field, found_in(value), "float");
  }
  // A column of float32 rounds, as NumPy does when it stores.
  if (field.field.dtype.item_bytes() != sizeof(float)) return number;
  const bool is_in_range =
      std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max());
  return is_in_range ? static_cast<double>(static_cast<float>(number)) : number;
}

// Errors: Code::schema for a number that does not fit into its column.
Value in_range(Value number, const Field& field) {
  if (field.dtype.item_bytes() == 0) return number;
  std::array<std::byte, sizeof(std::int64_t)> unused;
  write_number(number, field, std::span(unused).first(field.dtype.item_bytes()));
  return number;
}

bool is_same(nb::handle left, nb::handle right) {
  const int equal = PyObject_RichCompareBool(left.ptr(), right.ptr(), Py_EQ);
  if (equal < 0) throw nb::python_error();
  return equal == 1;
}

// The name of an entry that is not a field.
std::string extra_entry(nb::handle sample, const std::vector<InputField>& fields) {
  for (const auto& [name, value] : nb::borrow<nb::dict>(sample)) {
    bool is_known = PyUnicode_Check(name.ptr()) && text_of_object(name) == "key";
    for (const InputField& field : fields) is_known = is_known || is_same(name, field.name);
    if (!is_known) return text_of_object(name);
  }
  return "?";
}

}  // namespace

SampleValues::SampleValues(nb::handle sample, const std::vector<InputField>& fields, bool has_keys,
                           nb::handle classes, std::uint64_t number) {
  try {
    if (!PyDict_Check(sample.ptr()))
      throw Error(Code::schema, "a sample is {}, expected a dict", found_in(sample));
    objects_.reserve(fields.size());
    sample_.values.reserve(fields.size());
    const nb::handle key = PyDict_GetItemString(sample.ptr(), "key");
    if (key.is_valid() && !key.is_none()) take_key(key, has_keys);
    for (const InputField& field : fields) {
      const nb::handle value = PyDict_GetItemWithError(sample.ptr(), field.name.ptr());
      if (!value.is_valid()) {
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        throw does_not_fit(field, "missing", expected_of(field.field));
      }
      objects_.push_back(nb::borrow(value));
      const bool is_label = field.field.name == "label";
      sample_.values.push_back(value_of(value, field, is_label ? classes : nb::none()));
    }
    const auto known = static_cast<Py_ssize_t>(fields.size() + (key.is_valid() ? 1 : 0));
    if (PyDict_Size(sample.ptr()) != known) {
      throw Error(Code::schema, "'{}' is not a field of the schema",
                  printable(extra_entry(sample, fields)))
          .hint("leave it out, or name it in the schema");
    }
  } catch (Error& error) {
    for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
    if (!sample_.key.empty()) error.because(fmt::format("sample {}", number));
    error.for_sample(sample_.key, number);
    throw;
  } catch (...) {
    for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
    throw;
  }
}

SampleValues::~SampleValues() {
  for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
}

// Raw bytes, or text as os.fsencode has it in UTF-8, as Dataset hands it out.
void SampleValues::take_key(nb::handle key, bool has_keys) {
  if (!has_keys) {
    throw Error(Code::schema, "a sample has a key, but rows of numbers and arrays have none")
        .hint("leave out the key, or pass keys=True");
  }
  nb::object encoded = nb::borrow(key);
  if (PyUnicode_Check(key.ptr())) {
    encoded = nb::steal(PyUnicode_AsEncodedString(key.ptr(), "utf-8", "surrogateescape"));
    if (!encoded.is_valid()) {
      expect_python_error(PyExc_UnicodeError);
      throw Error(Code::schema, "the key is not valid Unicode");
    }
  } else if (!PyBytes_Check(key.ptr())) {
    throw Error(Code::schema, "the key is {}, expected str or bytes", found_in(key));
  }
  char* data = nullptr;
  Py_ssize_t length = 0;
  if (PyBytes_AsStringAndSize(encoded.ptr(), &data, &length) != 0) throw nb::python_error();
  if (length == 0) {
    throw Error(Code::schema, "the key is empty").hint("leave it out for the number of the sample");
  }
  if (static_cast<std::uint64_t>(length) > kMaxKeyBytes)
    throw Error(Code::schema, "the key has {} bytes, expected at most {}", length, kMaxKeyBytes);
  sample_.key.assign(data, static_cast<std::size_t>(length));
}

Value SampleValues::value_of(nb::handle value, const InputField& field, nb::handle classes) {
  switch (field.field.kind) {
    case Kind::bytes:
      return kept(bytes_of(value, field));
    case Kind::text:
      return kept(text_of(value, field));
    case Kind::tensor:
      return kept(tensor_of(value, field));
    case Kind::integer:
      return in_range(integer_of(value, field, classes), field.field);
    case Kind::real:
      return in_range(real_of(value, field), field.field);
    case Kind::list:
      break;
  }
  const bool is_tuple = PyTuple_Check(value.ptr());
  if (!is_tuple && !PyList_Check(value.ptr()))
    throw does_not_fit(field, found_in(value), "a list of bytes");
  // A tuple of its own: the list may change while it is looked at.
  objects_.push_back(is_tuple ? nb::borrow(value) : nb::steal(PyList_AsTuple(value.ptr())));
  const nb::tuple elements = nb::borrow<nb::tuple>(objects_.back());
  std::vector<Bytes> list;
  list.reserve(nb::len(elements));
  for (const nb::handle element : elements) list.push_back(kept(bytes_of(element, field)));
  return list;
}

std::optional<Bytes> SampleValues::buffer_of(nb::handle object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_ND | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  buffers_.push_back(view);
  return Bytes(static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len));
}

Bytes SampleValues::bytes_of(nb::handle value, const InputField& field) {
  if (PyBytes_Check(value.ptr())) {
    char* data = nullptr;
    Py_ssize_t length = 0;
    if (PyBytes_AsStringAndSize(value.ptr(), &data, &length) != 0) throw nb::python_error();
    return {reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(length)};
  }
  const std::optional<Bytes> bytes = buffer_of(value);
  if (bytes && buffers_.back().itemsize == 1) return *bytes;
  Error error = does_not_fit(field, found_in(value), expected_of(field.field));
  if (PyUnicode_Check(value.ptr())) error.hint("encode it, or declare the field as \"str\"");
  throw error;
}

Bytes SampleValues::text_of(nb::handle value, const InputField& field) {
  if (!PyUnicode_Check(value.ptr())) throw does_not_fit(field, found_in(value), "str");
  Py_ssize_t length = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(value.ptr(), &length);
  if (utf8 == nullptr) {
    expect_python_error(PyExc_UnicodeError);
    throw does_not_fit(field, "str with surrogates", "valid Unicode");
  }
  return {reinterpret_cast<const std::byte*>(utf8), static_cast<std::size_t>(length)};
}

// In C order and little-endian, which most arrays are already.
Bytes SampleValues::tensor_of(nb::handle value, const InputField& field) {
  const auto expected = [&field] {
    return "an array of " + text_of_object(field.dtype) + " " + text_of_object(field.shape);
  };
  const nb::object ndarray = import_name("numpy", "ndarray");
  nb::object array = nb::borrow(value);
  if (!nb::isinstance(array, ndarray)) {
    const bool is_scalar = nb::isinstance(array, import_name("numpy", "generic"));
    if (!is_scalar && !nb::hasattr(array, "__array__"))
      throw does_not_fit(field, found_in(value), expected());
    array = call_python(import_name("numpy", "asarray"), array);
  }
  if (nb::hasattr(array, "mask")) throw does_not_fit(field, "a masked array", expected());
  const nb::object dtype = array.attr("dtype");
  const bool is_same_type =
      is_same(dtype, field.dtype) || is_same(dtype.attr("newbyteorder")("<"), field.dtype);
  if (!is_same_type || !is_same(array.attr("shape"), field.shape))
    throw does_not_fit(field, found_in(array), expected());
  if (!is_same(dtype, field.dtype)) array = array.attr("astype")(field.dtype);
  objects_.push_back(array);
  if (const std::optional<Bytes> bytes = buffer_of(array)) return *bytes;
  objects_.push_back(array.attr("tobytes")());  // not contiguous, or dates, which have no buffer
  return bytes_of(objects_.back(), field);
}

}  // namespace shale::python
