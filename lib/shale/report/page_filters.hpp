#pragma once

#include <span>
#include <string_view>

#include "shale/report/report_facts.hpp"

namespace shale {

/// What a filter makes something of: the value before it, the words after its name (or what names
/// that begin with @ stand for), and the pictures.
struct FilterInput {
  const Json& value;
  std::span<const Json> arguments;
  const ReportPictures& pictures;
};

/// {{value|filter:argument}} of a template: words for a number, or an object with what a part of
/// the page needs. templates/README.md lists them. Errors: Code::bug for an unknown filter.
[[nodiscard]] Json apply_filter(std::string_view name, const FilterInput& input);

}  // namespace shale
