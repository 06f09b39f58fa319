#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/ops/choose_output.hpp"
#include "shale/ops/sample_writer.hpp"

#include "python/bindings/bindings.hpp"
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
  std::vector<std::string> options(given.begin() + 1, given.end());
  const bool names_format =
      format_of_output(given.back()) != nullptr ||
      std::ranges::any_of(given, [](const std::string& word) { return word.starts_with("--to="); });
  if (!names_format) options.insert(options.begin(), "--to=record");
  (void)line.parse(options);
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
    std::vector<std::string> names;
    for (const nb::handle name : classes) names.push_back(raw(nb::cast<nb::bytes>(name)));
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
