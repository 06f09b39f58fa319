#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/stored_tensor.hpp"
#include "shale/ops/sample_writer.hpp"
#include "shale/requests/choose_output.hpp"

#include "python/bindings/bindings.hpp"
#include "python/bindings/field_objects.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/sample_values.hpp"
#include "python/bindings/watch.hpp"
#include "tools/facts.hpp"
#include "tools/requests.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

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

InputField field_of(nb::handle name, nb::handle description) {
  InputField field;
  field.name = nb::borrow(name);
  field.field = field_described(nb::cast<std::string>(name), description);
  if (field.field.kind == Kind::tensor) field.dtype = numpy_dtype(field.field.dtype.descr());
  field.is_raw = !raw_dtype_name(field.field.dtype.descr()).empty();
  return field;
}

// A writer and the process that it belongs to: a child has its memory, but none of its threads.
class Handle {
 public:
  Handle(const nb::list& words, bool resumes) : pid_(::getpid()), forks_(count_forks()) {
    ConvertRequest request = writer_request_of(words);
    output_ = request.output;
    // The working directory may change before the last sample.
    request.output = std::filesystem::absolute(output_).string();
    const Unlocked unlocked;
    writer_ = std::make_unique<SampleWriter>(request, resumes);
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

  /// Of the dataset that is appended to: fields, has_keys, classes; None: there is none.
  [[nodiscard]] nb::object appended_to() const {
    const Manifest* const manifest = own_writer().appended_to();
    if (manifest == nullptr) return nb::none();
    nb::dict fields;
    for (const Field& field : manifest->schema.fields)
      fields[field.name.c_str()] = described(field, RowStorage::indexed());
    nb::list classes;
    for (const std::string& name : manifest->classes)
      classes.append(nb::bytes(name.data(), name.size()));
    return nb::make_tuple(fields, manifest->schema.has_keys, classes);
  }

  void begin(const nb::dict& fields, bool has_keys, const nb::list& classes,
             nb::object class_labels) {
    SampleWriter& writer = own_writer();
    Schema schema;
    fields_.clear();  // of a first sample that was refused
    for (const auto& [name, description] : fields) {
      fields_.push_back(field_of(name, description));
      if (fields_.back().field.kind == Kind::tensor)
        names_.ndarray = import_name("numpy", "ndarray");
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
    // Another thread, or a finalizer, may write before this sample is in.
    std::unique_ptr<SampleValues> values = std::move(spare_);
    if (!values) values = std::make_unique<SampleValues>(names_);
    values->take(sample, fields_, has_keys_, class_labels_, writer.samples());
    if (values->bytes() <= kMostLockedBytes && writer.try_add(values->sample())) {
      values->clear();
      spare_ = std::move(values);
      return;
    }
    Watch watch{nb::none()};
    const Events events = watch.events();
    const Unlocked unlocked;
    writer.add(values->sample(), events);
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
    return tools::json_text(tools::convert_facts(report, output_));
  }

  void abandon() {
    if (!is_mine()) return;
    const Unlocked unlocked;
    writer_->abandon();
  }

  [[nodiscard]] std::uint64_t samples() const { return writer_->samples(); }
  [[nodiscard]] std::uint64_t resumed() const { return writer_->resumed(); }
  [[nodiscard]] bool is_complete() const { return writer_->is_complete(); }

 private:
  [[nodiscard]] bool is_mine() const noexcept { return forks_so_far() == forks_; }

  // Errors: Code::usage in a child.
  [[nodiscard]] SampleWriter& own_writer() const {
    if (is_mine()) return *writer_;
    throw Error(Code::usage, "the writer belongs to process {}, this is {}", pid_, ::getpid())
        .at(output_)
        .hint("write in the process that made the writer, or make one for each process");
  }

  const pid_t pid_;
  const unsigned forks_;
  std::string output_;
  std::unique_ptr<SampleWriter> writer_;
  std::vector<InputField> fields_;
  KnownNames names_;
  std::unique_ptr<SampleValues> spare_;  // cleared
  bool has_keys_ = true;
  nb::object class_labels_ = nb::none();
};

}  // namespace

void bind_writer(nb::module_& module) {
  nb::class_<Handle>(module, "SampleWriter")
      .def(nb::init<const nb::list&, bool>(), "words"_a, "resumes"_a)
      .def_prop_ro("appended_to", &Handle::appended_to)
      .def_prop_ro("resumed", &Handle::resumed)
      .def_prop_ro("is_complete", &Handle::is_complete)
      .def("begin", &Handle::begin, "fields"_a, "has_keys"_a, "classes"_a, "labels"_a.none())
      .def("write", &Handle::write, "sample"_a)
      .def("close", &Handle::close)
      .def("abandon", &Handle::abandon)
      .def_prop_ro("samples", &Handle::samples);
  module.def(
      "field_of_type",
      [](const std::string& text) {
        return described(parse_field_type(text), RowStorage::indexed());
      },
      "text"_a);
  module.def(
      "field_of_array",
      [](const std::string& descr, const nb::tuple& shape) {
        return described(field_of_column({}, DType::parse(descr), sides_of(shape)),
                         RowStorage::indexed());
      },
      "dtype"_a, "shape"_a);
}

}  // namespace shale::python
