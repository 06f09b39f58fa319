#include "shale/format/layout.hpp"

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {

std::vector<FormatLayout> all_layouts() {
  std::vector<FormatLayout> layouts;
  for (const Format* format : all_formats()) {
    for (const Layout* layout : format->layouts) layouts.push_back({format, layout});
  }
  return layouts;
}

FormatLayout layout_named(std::string_view name) {
  std::string names;
  for (const FormatLayout& each : all_layouts()) {
    if (each.layout->name == name) return each;
    names.append(names.empty() ? "" : ", ").append(each.layout->name);
  }
  throw Error(Code::usage, "unknown layout '{}'", printable(name)).hint("choose one of " + names);
}

}  // namespace shale
