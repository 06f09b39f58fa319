#include "python/bindings/report_binding.hpp"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "shale/report/gather_report.hpp"
#include "shale/report/report_json.hpp"
#include "shale/report/report_page.hpp"
#include "shale/report/write_report.hpp"

#include "python/bindings/arguments.hpp"
#include "python/bindings/errors_binding.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/watch.hpp"
#include "tools/facts.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

ReportRequest report_request_of(const Arguments& arguments) {
  ReportRequest request{.dataset = raw(arguments.get<nb::bytes>("dataset")),
                        .index_folder = arguments.path("index_dir").value_or(""),
                        .sample = arguments.get<std::uint64_t>("sample"),
                        .verifies = arguments.get<bool>("verify"),
                        .generator = std::string(tools::kGenerator),
                        .jobs = arguments.jobs(),
                        .memory_bytes = arguments.memory_bytes()};
  if (const auto name = arguments.maybe<std::string>("parse"))
    request.dialect = wanted_dialect(*name);
  return request;
}

struct MadeReport {
  std::string facts, page;
};

MadeReport make_report(const ReportRequest& request, const ReportPlace& place,
                       const Events& events) {
  const bool is_written = !place.output.empty();
  if (is_written) refuse_report_output(place);
  const ReportFacts facts = gather_report(request, events);
  MadeReport made{.facts = report_facts_json(facts).dump(), .page = report_page(facts)};
  if (is_written) write_report(place, made.page);
  return made;
}

nb::dict run_report(const nb::dict& words, nb::object progress) {
  const Arguments arguments(words);
  const ReportRequest request = report_request_of(arguments);
  const ReportPlace place{.output = arguments.path("output").value_or(""),
                          .dataset = request.dataset,
                          .overwrites = arguments.get<bool>("overwrite")};
  Watch watch(std::move(progress));
  const Events events = watch.events();
  MadeReport made;
  try {
    const Unlocked unlocked;
    made = make_report(request, place, events);
  } catch (const Error& error) {
    raise_as_python(error, {});
  }
  nb::dict result;
  result["facts"] = made.facts;
  result["page"] = nb::bytes(made.page.data(), made.page.size());
  result["notes"] = watch.notes();
  return result;
}

nb::dict run_save(const nb::dict& words, const nb::bytes& page) {
  const Arguments arguments(words);
  const ReportPlace place{.output = raw(arguments.get<nb::bytes>("output")),
                          .dataset = raw(arguments.get<nb::bytes>("dataset")),
                          .overwrites = arguments.get<bool>("overwrite")};
  const std::string bytes = raw(page);
  try {
    const Unlocked unlocked;
    write_report(place, bytes);
  } catch (const Error& error) {
    raise_as_python(error, {});
  }
  nb::dict result;
  result["facts"] = "{}";
  result["notes"] = nb::list();
  return result;
}

}  // namespace

void bind_report(nb::module_& module) {
  module.def("report", &run_report, "words"_a, "progress"_a.none());
  module.def("save_report", &run_save, "words"_a, "page"_a);
}

}  // namespace shale::python
