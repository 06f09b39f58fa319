#include "python/bindings/resample_binding.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/ops/choose_output.hpp"
#include "shale/ops/draw_options.hpp"
#include "shale/ops/resample.hpp"

#include "python/bindings/arguments.hpp"
#include "python/bindings/errors_binding.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/watch.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

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
  conversion.inputs = arguments.paths("inputs");
  conversion.output = raw(arguments.get<nb::bytes>("output"));
  choose_output(conversion, arguments.output_options());
  conversion.fields = arguments.get<std::vector<std::string>>("fields");
  conversion.generator = "shale " SHALE_VERSION;
  conversion.io = arguments.io();
  conversion.overwrite = arguments.get<bool>("overwrite");
  conversion.is_dry_run = arguments.get<bool>("dry_run");
  conversion.order.draw = draw_request(draw_options_of(arguments));
  conversion.scratch_folder = arguments.path("tmp").value_or("");
  conversion.jobs = arguments.jobs();
  conversion.memory_bytes = arguments.memory_bytes();
  request.is_permutation = arguments.get<bool>("permute");
  for (const nb::handle pair : arguments.get<nb::list>("also"))
    request.also.emplace_back(raw(nb::cast<nb::bytes>(pair[0])), raw(nb::cast<nb::bytes>(pair[1])));
  request.indices_output = arguments.path("save_indices").value_or("");
  require_array_names(request);
  return request;
}

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
  nb::list arrays;
  for (const ResampledArray& array : report.arrays) arrays.append(facts_of(array));
  facts["arrays"] = arrays;
  facts["dataset"] = report.dataset ? nb::object(facts_of(*report.dataset, output)) : nb::none();
  facts["notes"] = watch.notes();
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
