#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nlohmann/json.hpp>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/report/gather_report.hpp"
#include "shale/report/report_page.hpp"
#include "shale/report/write_report.hpp"

#include "python/bindings/bindings.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/watch.hpp"
#include "tools/command.hpp"
#include "tools/requests.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

// What the command prints, and the notes. Without the interpreter's lock.
nb::tuple run(const nb::list& words, nb::object progress) {
  const std::vector<std::string> line = raw_words(words);
  Watch watch(std::move(progress));
  tools::Console console(watch.events());
  {
    const Unlocked unlocked;
    tools::run_in_process(line, console);
  }
  return nb::make_tuple(console.printed(), watch.notes());
}

struct MadeReport {
  std::string facts, page;
};

MadeReport make_report(const ReportRequest& request, const ReportPlace& place,
                       const Events& events) {
  const bool is_written = !place.output.empty();
  if (is_written) refuse_report_output(place);
  const ReportFacts facts = gather_report(request, events);
  MadeReport made{.facts = tools::json_text(facts.json), .page = report_page(facts)};
  if (is_written) write_report(place, made.page);
  return made;
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
  const ReportPlace place = tools::report_place_of(line);
  Watch watch(std::move(progress));
  const Events events = watch.events();
  MadeReport made;
  {
    const Unlocked unlocked;
    made = make_report(request, place, events);
  }
  return nb::make_tuple(made.facts, watch.notes(), nb::bytes(made.page.data(), made.page.size()));
}

void save_report(const nb::list& words, const nb::bytes& page) {
  tools::CommandLine line(tools::command_named("report"));
  parse(line, words);
  const ReportPlace place = tools::report_place_of(line);
  const std::string bytes = raw(page);
  const Unlocked unlocked;
  write_report(place, bytes);
}

nb::object text(std::string_view text) { return nb::str(text.data(), text.size()); }

// (name, argument, value) of each option that functions of the package have.
nb::list options(const std::string& command) {
  nb::list rows;
  for (const tools::Option* option : tools::options_of(command)) {
    if (option->is(tools::kOfTerminals)) continue;
    std::string argument(option->argument.empty() ? option->name : option->argument);
    std::replace(argument.begin(), argument.end(), '-', '_');
    rows.append(nb::make_tuple(text(option->name), argument, text(option->value)));
  }
  return rows;
}

}  // namespace

void bind_commands(nb::module_& module) {
  module.def("run", &run, "words"_a, "progress"_a.none());
  module.def("report", &run_report, "words"_a, "progress"_a.none());
  module.def("save_report", &save_report, "words"_a, "page"_a);
  module.def(
      "parse_size",
      [](const std::string& text, const std::string& what) { return parse_size(text, what); },
      "text"_a, "what"_a);
  module.def("usable_cpus", [] { return usable_cpus().value; });
  module.def("options", &options, "command"_a);
}

}  // namespace shale::python
