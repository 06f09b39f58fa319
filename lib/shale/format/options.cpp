#include "shale/format/options.hpp"

#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

const OptionSpec* find_spec(std::span<const OptionSpec> specs, std::string_view name) {
  for (const OptionSpec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

std::string list_of_names(std::span<const OptionSpec> specs) {
  if (specs.empty()) return "this format has no options";
  std::string text = "this format has:";
  for (const OptionSpec& spec : specs) text.append(" ").append(spec.name);
  return text;
}

}  // namespace

void OptionSet::set(std::string_view name, std::string value) {
  if (find_spec(specs_, name) == nullptr) {
    throw Error(Code::usage, "the format has no option '{}'", printable(name))
        .hint(list_of_names(specs_));
  }
  values_.insert_or_assign(std::string(name), std::move(value));
}

std::string_view OptionSet::text(std::string_view name) const {
  const OptionSpec* spec = find_spec(specs_, name);
  if (spec == nullptr)
    throw Error(Code::bug, "option '{}' is asked for, but not in the format's table", name);
  const auto value = values_.find(name);
  return value == values_.end() ? spec->default_value : std::string_view(value->second);
}

}  // namespace shale
