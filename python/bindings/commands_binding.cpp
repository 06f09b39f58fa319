#include "python/bindings/commands_binding.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"

#include "python/bindings/errors_binding.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/watch.hpp"
#include "tools/command.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

// What the command prints, and the notes. Without the interpreter's lock.
nb::tuple run(const nb::list& words, nb::object progress) {
  const std::vector<std::string> line = raw_words(words);
  Watch watch(std::move(progress));
  tools::Console console(watch.events());
  try {
    const Unlocked unlocked;
    tools::run_in_process(line, console);
  } catch (const Error& error) {
    raise_as_python(error, {});
  }
  return nb::make_tuple(console.printed(), watch.notes());
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
  module.def(
      "parse_size",
      [](const std::string& text, const std::string& what) { return parse_size(text, what); },
      "text"_a, "what"_a);
  module.def("options", &options, "command"_a);
}

}  // namespace shale::python
