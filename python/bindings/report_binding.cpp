#include "python/bindings/report_binding.hpp"

#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nlohmann/json.hpp>

#include "shale/report/gather_report.hpp"
#include "shale/report/report_page.hpp"
#include "shale/report/write_report.hpp"

#include "python/bindings/errors_binding.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/watch.hpp"
#include "tools/requests.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

struct MadeReport {
  std::string facts, page;
};

MadeReport make_report(const ReportRequest& request, const ReportPlace& place,
                       const Events& events) {
  const bool is_written = !place.output.empty();
  if (is_written) refuse_report_output(place);
  const ReportFacts facts = gather_report(request, events);
  MadeReport made{.facts = facts.json.dump(), .page = report_page(facts)};
  if (is_written) write_report(place, made.page);
  return made;
}

ReportPlace place_of(const tools::CommandLine& line) {
  return {.output = line.text_or_none("output"),
          .dataset = line.words()[0],
          .overwrites = line.flag("overwrite")};
}

void parse(tools::CommandLine& line, const nb::list& words) {
  const std::vector<std::string> given = raw_words(words);
  (void)line.parse({given.begin() + 1, given.end()});
}

// What the command prints, the notes, and the page.
nb::tuple run_report(const nb::list& words, nb::object progress) {
  tools::CommandLine line(tools::command_named("report"));
  parse(line, words);
  const ReportRequest request = tools::report_request_of(line);
  const ReportPlace place = place_of(line);
  Watch watch(std::move(progress));
  const Events events = watch.events();
  MadeReport made;
  try {
    const Unlocked unlocked;
    made = make_report(request, place, events);
  } catch (const Error& error) {
    raise_as_python(error, {});
  }
  return nb::make_tuple(made.facts, watch.notes(), nb::bytes(made.page.data(), made.page.size()));
}

void save(const nb::list& words, const nb::bytes& page) {
  tools::CommandLine line(tools::command_named("report"));
  parse(line, words);
  const ReportPlace place = place_of(line);
  const std::string bytes = raw(page);
  try {
    const Unlocked unlocked;
    write_report(place, bytes);
  } catch (const Error& error) {
    raise_as_python(error, {});
  }
}

}  // namespace

void bind_report(nb::module_& module) {
  module.def("report", &run_report, "words"_a, "progress"_a.none());
  module.def("save_report", &save, "words"_a, "page"_a);
}

}  // namespace shale::python
