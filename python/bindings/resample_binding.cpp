#include "python/bindings/resample_binding.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/ops/choose_output.hpp"
#include "shale/ops/draw_options.hpp"
#include "shale/ops/resample.hpp"

#include "python/bindings/errors_binding.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

using Clock = std::chrono::steady_clock;

// The interpreter's lock may be a switch interval (5 ms) away: it is asked for rarely.
constexpr std::chrono::milliseconds kProgressInterval{100};

// The arguments of the call, by name. All are there; None is one that was not given.
class Arguments {
 public:
  explicit Arguments(const nb::dict& words) : words_(words) {}

  template <class Type>
  [[nodiscard]] Type get(const char* name) const {
    return nb::cast<Type>(words_[name]);
  }
  template <class Type>
  [[nodiscard]] std::optional<Type> maybe(const char* name) const {
    const nb::object value = words_[name];
    return value.is_none() ? std::nullopt : std::optional(nb::cast<Type>(value));
  }
  [[nodiscard]] std::optional<std::string> path(const char* name) const {
    const std::optional<nb::bytes> path = maybe<nb::bytes>(name);
    return path ? std::optional(raw(*path)) : std::nullopt;
  }

 private:
  const nb::dict& words_;
};

IoMode io_named(const std::string& name) {
  if (name == "auto") return IoMode::automatic;
  if (name == "direct") return IoMode::direct;
  if (name == "buffered") return IoMode::buffered;
  throw Error(Code::usage, "io is '{}', expected 'auto', 'direct' or 'buffered'", name);
}

OutputOptions output_options_of(const Arguments& arguments) {
  OutputOptions options;
  options.format = arguments.maybe<std::string>("to");
  if (const auto size = arguments.maybe<std::string>("shard_size"))
    options.shard_bytes = parse_size(*size);
  options.shard_samples = arguments.maybe<std::uint64_t>("shard_samples");
  return options;
}

DrawOptions draw_options_of(const Arguments& arguments) {
  DrawOptions options;
  options.permute = arguments.get<bool>("permute");
  options.replace = arguments.get<bool>("replace");
  options.indices = arguments.path("indices");
  options.weights = arguments.path("weights");
  options.rows = arguments.maybe<std::uint64_t>("rows");
  options.seed = arguments.maybe<std::uint64_t>("seed");
  return options;
}

ResampleRequest request_of(const Arguments& arguments) {
  ResampleRequest request;
  ConvertRequest& conversion = request.conversion;
  for (const nb::handle word : arguments.get<nb::list>("inputs"))
    conversion.inputs.push_back(raw(nb::cast<nb::bytes>(word)));
  conversion.output = raw(arguments.get<nb::bytes>("output"));
  choose_output(conversion, output_options_of(arguments));
  conversion.fields = arguments.get<std::vector<std::string>>("fields");
  conversion.generator = "shale " SHALE_VERSION;
  conversion.io = io_named(arguments.get<std::string>("io"));
  conversion.overwrite = arguments.get<bool>("overwrite");
  conversion.is_dry_run = arguments.get<bool>("dry_run");
  conversion.draw = draw_request(draw_options_of(arguments));
  conversion.scratch_folder = arguments.path("tmp").value_or("");
  conversion.jobs =
      static_cast<unsigned>(granted_jobs(arguments.maybe<std::uint64_t>("jobs")).value);
  conversion.memory_bytes = granted_memory(arguments.maybe<std::string>("memory")).value;
  request.is_permutation = arguments.get<bool>("permute");
  for (const nb::handle pair : arguments.get<nb::list>("also"))
    request.also.emplace_back(raw(nb::cast<nb::bytes>(pair[0])), raw(nb::cast<nb::bytes>(pair[1])));
  request.indices_output = arguments.path("save_indices").value_or("");
  require_array_names(request);
  return request;
}

// What a run tells the thread that called it, which does not hold the interpreter's lock during it.
class Watch {
 public:
  explicit Watch(nb::object progress) : progress_(std::move(progress)) {}

  [[nodiscard]] Events events() {
    Events events;
    events.note = [this](std::string_view sentence) { notes_.emplace_back(sentence); };
    if (!progress_.is_none()) {
      events.progress = [this](std::uint64_t done, std::uint64_t all, std::uint64_t) {
        show(done, all);
      };
    }
    events.should_stop = [this] { return caller_.was_interrupted(); };
    return events;
  }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  void show(std::uint64_t done, std::uint64_t all) {
    const Clock::time_point now = Clock::now();
    const bool is_last = done == all && shown_ != all;
    if (!is_last && (done <= shown_ || now - last_shown_ < kProgressInterval)) return;
    shown_ = done;
    last_shown_ = now;
    caller_.locked([&] {
      try {
        call_python(progress_, done, all);
      } catch (nb::python_error& raised) {
        raised.restore();  // it stays set, and is what the caller gets
        throw Error(Code::interrupted, "the progress callback raised");
      }
    });
  }

  const nb::object progress_;
  std::uint64_t shown_ = 0;
  Clock::time_point last_shown_ = Clock::now();
  CallingThread caller_;
  std::vector<std::string> notes_;
};

nb::dict facts_of(const ResampledArray& array) {
  nb::dict facts;
  facts["path"] = fs_text(array.path);
  facts["dtype"] = numpy_dtype(dtype_of_column(array.field).descr());
  facts["shape"] = nb::tuple(nb::cast(shape_of_column(array.field, array.rows)));
  facts["file_bytes"] = array.file_bytes;
  facts["strategy"] = std::string(name_of(array.plan.strategy));
  facts["passes"] = array.plan.passes;
  facts["read_bytes"] = array.plan.read_bytes;
  facts["written_bytes"] = array.plan.written_bytes;
  facts["scratch_bytes"] = array.plan.scratch_bytes;
  return facts;
}

nb::dict facts_of(const ConvertReport& dataset, const std::string& output) {
  nb::dict facts;
  facts["path"] = fs_text(output);
  facts["format"] = dataset.manifest.format;
  facts["samples"] = dataset.manifest.digest.samples;
  facts["shards"] = dataset.manifest.shard_count;
  facts["file_bytes"] = dataset.file_bytes;
  facts["was_complete"] = dataset.was_complete;
  return facts;
}

nb::dict facts_of(const ResampleReport& report, const ResampleRequest& request,
                  const Watch& watch) {
  const std::string& output = request.conversion.output;
  nb::dict facts;
  facts["output"] = fs_text(output);
  facts["rows"] = report.rows;
  facts["source_rows"] = report.source_rows;
  nb::list arrays, notes;
  for (const ResampledArray& array : report.arrays) arrays.append(facts_of(array));
  for (const std::string& note : watch.notes()) notes.append(fs_text(note));
  facts["arrays"] = arrays;
  facts["dataset"] = report.dataset ? nb::object(facts_of(*report.dataset, output)) : nb::none();
  facts["notes"] = notes;
  return facts;
}

nb::dict run_resample(const nb::dict& words, nb::object progress) {
  const ResampleRequest request = request_of(Arguments(words));
  Watch watch(std::move(progress));
  const Events events = watch.events();
  ResampleReport report;
  try {
    const Unlocked unlocked;
    report = resample(request, events);
  } catch (const Error& error) {
    raise_as_python(error, {});
  }
  return facts_of(report, request, watch);
}

}  // namespace

void bind_resample(nb::module_& module) {
  module.def("resample", &run_resample, "words"_a, "progress"_a.none());
}

}  // namespace shale::python
