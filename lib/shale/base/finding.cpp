#include "shale/base/finding.hpp"

#include <fmt/format.h>

#include "shale/base/printable.hpp"

namespace shale {

std::string describe(const Finding& finding) {
  std::string text;
  const std::string& place = finding.file.empty() ? finding.shard : finding.file;
  if (!place.empty()) text += printable(place) + ": ";
  if (finding.offset) text += fmt::format("byte {}: ", *finding.offset);
  if (finding.sample && !finding.sample->key.empty()) {
    text += fmt::format("sample '{}': ", printable(finding.sample->key));
  } else if (finding.sample && finding.sample->index) {
    text += fmt::format("sample {}: ", *finding.sample->index);
  } else if (finding.row) {
    text += fmt::format("row {}: ", *finding.row);
  }
  if (!finding.field.empty()) text += fmt::format("field '{}': ", printable(finding.field));
  text += finding.message;
  // What was found may be any bytes of a damaged file.
  if (!finding.found.empty()) text += ": found " + printable(finding.found);
  if (!finding.expected.empty()) {
    text += (finding.found.empty() ? ": expected " : ", expected ") + printable(finding.expected);
  }
  return text;
}

}  // namespace shale
