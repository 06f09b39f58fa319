#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "shale/report/report_facts.hpp"

namespace shale {

/// The pictures of a page: they are not in its facts. Of a sample by its row, of a preview by the
/// number of its field.
struct ReportPictures {
  std::map<std::uint64_t, const ReportSample*> samples = {};
  std::span<const FieldFacts> fields = {};
};

/// What a filter makes something of: the value before it, the words after its name (or what names
/// that begin with @ stand for), and the pictures.
struct FilterInput {
  const nlohmann::ordered_json& value;
  std::span<const nlohmann::ordered_json> arguments;
  const ReportPictures& pictures;
};

/// {{value|filter:argument}} of a template: words for a number, or an object with what a part of
/// the page needs. templates/README.md lists them. Errors: Code::bug for an unknown filter.
[[nodiscard]] nlohmann::ordered_json apply_filter(std::string_view name, const FilterInput& input);

}  // namespace shale
