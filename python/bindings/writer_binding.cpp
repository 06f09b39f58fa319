#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/ops/sample_writer.hpp"
#include "shale/requests/choose_output.hpp"

#include "python/bindings/bindings.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/watch.hpp"
#include "tools/facts.hpp"
#include "tools/requests.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

// A field of the samples that a program writes, and what Python calls it.
struct InputField {
  Field field;
  nb::object name;          // interned
  nb::object dtype, shape;  // of a tensor: numpy.dtype and tuple
};

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

// The values of one dictionary as a sample, while this lives: bytes and arrays are borrowed.
class SampleValues {
 public:
  // `classes`: labels by name, or None. `number`: of the sample, for errors. Errors: Code::schema,
  // naming field, number and key, for a sample that does not fit.
  SampleValues(nb::handle sample, const std::vector<InputField>& fields, bool has_keys,
               nb::handle classes, std::uint64_t number);

  [[nodiscard]] const Sample& sample() const { return sample_; }
  // How many have to be copied.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void take_key(nb::handle key, bool has_keys);
  [[nodiscard]] Value value_of(nb::handle value, const InputField& field, nb::handle classes);
  [[nodiscard]] Bytes bytes_of(nb::handle value, const InputField& field);
  [[nodiscard]] Bytes text_of(nb::handle value, const InputField& field);
  [[nodiscard]] Bytes tensor_of(nb::handle value, const InputField& field);
  [[nodiscard]] std::optional<Bytes> buffer_of(nb::handle object);
  [[nodiscard]] Bytes kept(Bytes bytes) {
    bytes_ += bytes.size();
    return bytes;
  }

  Sample sample_;
  std::uint64_t bytes_ = 0;
  std::vector<nb::object> objects_;  // what the bytes are borrowed from
  std::vector<HeldBuffer> buffers_;
};

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

// More than this is copied without the interpreter's lock.
constexpr std::uint64_t kMostLockedBytes = 512 << 10;

// A conversion without an input: its place in the words is taken by a dash.
ConvertRequest writer_request_of(const nb::list& words) {
  const std::vector<std::string> given = raw_words(words);
  tools::CommandLine line(tools::command_named(given.at(0)));
  (void)line.parse(std::vector<std::string>(given.begin() + 1, given.end()));
  ConvertRequest request = tools::convert_request_of(line);
  request.inputs.clear();
  return request;
}

// (name, kind) or (name, dtype as NumPy writes it, shape, numpy.dtype).
InputField field_of(const nb::tuple& described) {
  InputField field;
  auto name = nb::cast<std::string>(described[0]);
  field.name = nb::borrow(described[0]);
  if (nb::len(described) == 2) {
    field.field.kind = kind_named(nb::cast<std::string>(described[1]));
    field.field.name = std::move(name);
    return field;
  }
  field.field = field_of_column(std::move(name), DType::parse(nb::cast<std::string>(described[1])),
                                nb::cast<std::vector<std::uint64_t>>(described[2]));
  field.shape = nb::tuple(described[2]);
  field.dtype = nb::borrow(described[3]);
  return field;
}

// A writer and the process that it belongs to: a child has its memory, but none of its threads.
class Handle {
 public:
  explicit Handle(const nb::list& words) : pid_(::getpid()) {
    ConvertRequest request = writer_request_of(words);
    output_ = request.output;
    // The working directory may change before the last sample.
    request.output = std::filesystem::absolute(output_).string();
    const Unlocked unlocked;
    writer_ = std::make_unique<SampleWriter>(request);
  }
  ~Handle() {
    if (!is_mine()) {
      (void)writer_.release();  // its threads and its files are the parent's
      return;
    }
    const Unlocked unlocked;
    writer_.reset();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void begin(const nb::list& fields, bool has_keys, const nb::list& classes,
             nb::object class_labels) {
    SampleWriter& writer = own_writer();
    Schema schema;
    fields_.clear();  // of a first sample that was refused
    for (const nb::handle described : fields) {
      fields_.push_back(field_of(nb::borrow<nb::tuple>(described)));
      schema.fields.push_back(fields_.back().field);
    }
    has_keys_ = schema.has_keys = has_keys;
    class_labels_ = std::move(class_labels);
    std::vector<std::string> names = raw_words(classes);
    const Unlocked unlocked;
    writer.begin(std::move(schema), std::move(names));
  }

  void write(nb::handle sample) {
    SampleWriter& writer = own_writer();
    const SampleValues values(sample, fields_, has_keys_, class_labels_, writer.samples());
    if (values.bytes() <= kMostLockedBytes && writer.try_add(values.sample())) return;
    Watch watch{nb::none()};
    const Events events = watch.events();
    const Unlocked unlocked;
    writer.add(values.sample(), events);
  }

  /// The facts of the dataset, as convert prints them.
  std::string close() {
    SampleWriter& writer = own_writer();
    Watch watch{nb::none()};
    const Events events = watch.events();
    ConvertReport report;
    {
      const Unlocked unlocked;
      try {
        report = writer.finish(events);
      } catch (...) {
        writer.abandon();
        throw;
      }
    }
    return tools::convert_facts(report, output_).dump();
  }

  void abandon() {
    if (!is_mine()) return;
    const Unlocked unlocked;
    writer_->abandon();
  }

  [[nodiscard]] std::uint64_t samples() const { return writer_->samples(); }

 private:
  [[nodiscard]] bool is_mine() const { return ::getpid() == pid_; }

  // Errors: Code::usage in a child.
  [[nodiscard]] SampleWriter& own_writer() const {
    if (is_mine()) return *writer_;
    throw Error(Code::usage, "the writer belongs to process {}, this is {}", pid_, ::getpid())
        .at(output_)
        .hint("write in the process that made the writer, or make one for each process");
  }

  const pid_t pid_;
  std::string output_;
  std::unique_ptr<SampleWriter> writer_;
  std::vector<InputField> fields_;
  bool has_keys_ = true;
  nb::object class_labels_ = nb::none();
};

}  // namespace

void bind_writer(nb::module_& module) {
  nb::class_<Handle>(module, "SampleWriter")
      .def(nb::init<const nb::list&>(), "words"_a)
      .def("begin", &Handle::begin, "fields"_a, "has_keys"_a, "classes"_a, "labels"_a.none())
      .def("write", &Handle::write, "sample"_a)
      .def("close", &Handle::close)
      .def("abandon", &Handle::abandon)
      .def_prop_ro("samples", &Handle::samples);
}

}  // namespace shale::python
