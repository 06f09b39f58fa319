#include "python/bindings/sample_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/json_text.hpp"
#include "shale/format/format.hpp"

#include "python/bindings/field_objects.hpp"
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

// "float32"; of numbers that NumPy lacks what others call them.
std::string text_of_dtype(nb::handle dtype) {
  const bool is_structured = nb::hasattr(dtype, "names") && !dtype.attr("names").is_none();
  return text_of_object(is_structured
                            ? call_python(import_name("shale._raw_dtypes", "text_of"), dtype)
                            : nb::borrow(dtype));
}

// "int", or "an array of float64 (3, 224)".
std::string found_in(nb::handle value) {
  if (value.is_none()) return "None";
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "shape")) {
    return "an array of " + text_of_dtype(value.attr("dtype")) + " " +
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
      return field.is_json ? "JSON" : "str";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::list:
      return field.holds_text() ? "a list of str" : "a list of bytes";
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

void SampleValues::clear() {
  sample_.key.clear();
  sample_.values.clear();
  sample_.sides.clear();
  bytes_ = 0;
  buffers_.clear();
  objects_.clear();
}

void SampleValues::take(nb::handle sample, const std::vector<InputField>& fields, bool has_keys,
                        nb::handle classes, std::uint64_t number) {
  try {
    if (!PyDict_Check(sample.ptr()))
      throw Error(Code::schema, "a sample is {}, expected a dict", found_in(sample));
    objects_.reserve(fields.size());
    sample_.values.reserve(fields.size());
    const nb::handle key = PyDict_GetItemWithError(sample.ptr(), names_.key.ptr());
    if (!key.is_valid() && PyErr_Occurred() != nullptr) throw nb::python_error();
    if (key.is_valid() && !key.is_none()) take_key(key, has_keys);
    Py_ssize_t known = key.is_valid() ? 1 : 0;
    for (const InputField& field : fields) {
      const nb::handle value = PyDict_GetItemWithError(sample.ptr(), field.name.ptr());
      if (!value.is_valid() && PyErr_Occurred() != nullptr) throw nb::python_error();
      if (!value.is_valid() && !field.field.is_optional)
        throw does_not_fit(field, "missing", expected_of(field.field));
      known += value.is_valid() ? 1 : 0;
      if (field.field.is_optional && (!value.is_valid() || value.is_none())) {
        sample_.values.emplace_back(std::monostate());
        if (field.field.is_ragged())
          sample_.sides.resize(sample_.sides.size() + field.field.shape.size());
        continue;
      }
      objects_.push_back(nb::borrow(value));
      const bool is_label = field.field.name == "label";
      sample_.values.push_back(value_of(value, field, is_label ? classes : nb::none()));
    }
    if (PyDict_Size(sample.ptr()) != known) {
      throw Error(Code::schema, "'{}' is not a field of the schema",
                  printable(extra_entry(sample, fields)))
          .hint("leave it out, or name it in the schema");
    }
  } catch (Error& error) {
    if (!sample_.key.empty()) error.because(fmt::format("sample {}", number));
    error.for_sample(sample_.key, number);
    throw;
  }
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
  return list_of(value, field);
}

Value SampleValues::list_of(nb::handle value, const InputField& field) {
  const bool is_tuple = PyTuple_Check(value.ptr());
  if (!is_tuple && !PyList_Check(value.ptr()))
    throw does_not_fit(field, found_in(value), expected_of(field.field));
  // A tuple of its own: the list may change while it is looked at.
  objects_.push_back(is_tuple ? nb::borrow(value) : nb::steal(PyList_AsTuple(value.ptr())));
  const nb::tuple elements = nb::borrow<nb::tuple>(objects_.back());
  if (nb::len(elements) > kMaxElements) {
    throw Error(Code::limit, "field '{}' is a list of {} elements, expected at most {}",
                printable(field.field.name), nb::len(elements), kMaxElements)
        .hint("divide it into several samples");
  }
  std::vector<Bytes> list;
  list.reserve(nb::len(elements));
  for (const nb::handle element : elements) {
    list.push_back(
        kept(field.field.holds_text() ? text_of(element, field) : bytes_of(element, field)));
  }
  return list;
}

std::optional<Bytes> SampleValues::buffer_of(nb::handle object) {
  HeldBuffer view = held_buffer(object, PyBUF_ND | PyBUF_C_CONTIGUOUS);
  if (view == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  const Bytes bytes(static_cast<const std::byte*>(view->buf), static_cast<std::size_t>(view->len));
  buffers_.push_back(std::move(view));
  return bytes;
}

Bytes SampleValues::bytes_of(nb::handle value, const InputField& field) {
  if (PyBytes_Check(value.ptr())) {
    char* data = nullptr;
    Py_ssize_t length = 0;
    if (PyBytes_AsStringAndSize(value.ptr(), &data, &length) != 0) throw nb::python_error();
    return {reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(length)};
  }
  const std::optional<Bytes> bytes = buffer_of(value);
  if (bytes && buffers_.back()->itemsize == 1) return *bytes;
  Error error = does_not_fit(field, found_in(value), expected_of(field.field));
  if (PyUnicode_Check(value.ptr()))
    error.hint(fmt::format("encode it, or declare the field as \"{}\"",
                           field.field.kind == Kind::list ? "list[str]" : "str"));
  throw error;
}

Bytes SampleValues::text_of(nb::handle value, const InputField& field) {
  if (!PyUnicode_Check(value.ptr()))
    throw does_not_fit(field, found_in(value), expected_of(field.field));
  Py_ssize_t length = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(value.ptr(), &length);
  if (utf8 == nullptr) {
    expect_python_error(PyExc_UnicodeError);
    throw does_not_fit(field, "str with surrogates", "valid Unicode");
  }
  if (field.field.is_json) {
    if (const auto fault = json_fault({utf8, static_cast<std::size_t>(length)})) {
      Error error = does_not_fit(field, "a string that is not taken as JSON: " + *fault, "JSON");
      if (fault->starts_with("it does not parse") && *utf8 != '{' && *utf8 != '[')
        error.hint("of a string itself write json.dumps(value)");
      throw error;
    }
  }
  return {reinterpret_cast<const std::byte*>(utf8), static_cast<std::size_t>(length)};
}

// The shape of a tensor, which is one that the schema describes.
void SampleValues::take_sides(std::span<const std::uint64_t> shape, const InputField& field) {
  if (field.field.is_ragged())
    sample_.sides.insert(sample_.sides.end(), shape.begin(), shape.end());
}

// The usual case, in which no Python object is made: an array of NumPy's own class, of the type
// and shape, in C order. nullopt: it is another.
std::optional<Bytes> SampleValues::tensor_as_it_is(nb::handle value, const InputField& field) {
  if (value.type().ptr() != names_.ndarray.ptr()) return std::nullopt;
  const nb::object dtype = nb::steal(PyObject_GetAttr(value.ptr(), names_.dtype.ptr()));
  if (!dtype.is_valid()) throw nb::python_error();
  if (dtype.ptr() != field.dtype.ptr()) return std::nullopt;
  Py_buffer view;
  if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_ND | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  std::array<std::uint64_t, PyBUF_MAX_NDIM> sides;
  const std::span<std::uint64_t> shape =
      std::span(sides).first(static_cast<std::size_t>(view.ndim));
  std::copy_n(view.shape, view.ndim, shape.begin());
  const Bytes bytes(static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len));
  // What keeps the elements is the array, which is in objects_: it does not count its buffers.
  PyBuffer_Release(&view);
  if (!shape_fits(shape, field.field.shape)) return std::nullopt;
  take_sides(shape, field);
  return bytes;
}

// In C order and little-endian, which most arrays are already.
Bytes SampleValues::tensor_of(nb::handle value, const InputField& field) {
  if (const std::optional<Bytes> bytes = tensor_as_it_is(value, field)) return *bytes;
  const auto expected = [&field] {
    return fmt::format("an array of {} {}", text_of_dtype(field.dtype),
                       shape_text(field.field.shape));
  };
  nb::object array = nb::borrow(value);
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()) || PyRange_Check(value.ptr())) {
    const nb::object made = call_python(import_name("shale._values", "array_of_list"), value,
                                        field.dtype, shape_object(field.field));
    if (PyUnicode_Check(made.ptr())) throw does_not_fit(field, text_of_object(made), expected());
    array = made;
  } else if (field.is_raw || !nb::isinstance(array, names_.ndarray)) {
    const bool is_scalar = nb::isinstance(array, import_name("numpy", "generic"));
    if (!is_scalar && !nb::hasattr(array, "__array__"))
      throw does_not_fit(field, found_in(value), expected());
    array = call_python(import_name("shale._raw_dtypes", "as_array"), array);
  }
  if (nb::hasattr(array, "mask")) throw does_not_fit(field, "a masked array", expected());
  const nb::object dtype = array.attr("dtype");
  const bool is_same_type =
      is_same(dtype, field.dtype) || is_same(dtype.attr("newbyteorder")("<"), field.dtype);
  if (!is_same_type) throw does_not_fit(field, found_in(array), expected());
  const auto shape = nb::cast<std::vector<std::uint64_t>>(array.attr("shape"));
  if (!shape_fits(shape, field.field.shape)) throw does_not_fit(field, found_in(array), expected());
  take_sides(shape, field);
  if (!is_same(dtype, field.dtype)) array = array.attr("astype")(field.dtype);
  objects_.push_back(array);
  if (const std::optional<Bytes> bytes = buffer_of(array)) return *bytes;
  objects_.push_back(array.attr("tobytes")());  // not contiguous, or dates, which have no buffer
  return bytes_of(objects_.back(), field);
}

}  // namespace shale::python
