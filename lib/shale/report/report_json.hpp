#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "shale/base/finding.hpp"
#include "shale/numbers/bins.hpp"

// The facts of a report are JSON from the moment that they are known: --json prints it, templates
// make the page of it, and docs/json.schema.json says what is in it. Names and keys of a dataset
// are in it as printable() shows them; numbers that are not finite are left out.

namespace shale {

using Json = nlohmann::ordered_json;

/// How many of a thing were looked at. `looked_at == of`: all of them, and numbers are exact.
struct SampledFrom {
  std::uint64_t looked_at = 0, of = 0;
};
[[nodiscard]] Json json_of(const SampledFrom& from);

/// `unit`: "bytes", "pixels"; empty: none.
[[nodiscard]] Json histogram_json(const std::vector<HistogramBar>& bars, const SampledFrom& from,
                                  const std::string& unit = {});

/// A finding as every command prints it with --json.
[[nodiscard]] Json finding_json(const Finding& finding);
[[nodiscard]] Json json_of(const std::vector<Finding>& findings);

/// A free side is null.
[[nodiscard]] Json shape_json(std::span<const std::uint64_t> shape);

/// A number of an object; 0 if it has no such member.
[[nodiscard]] std::uint64_t count_in(const Json& object, const char* name);

/// Sets a member to a name of the dataset; not if it is empty.
void put_name(Json& json, const char* member, const std::string& name);
/// Sets a member to a number that there is.
template <class Number>
void put_number(Json& json, const char* member, const std::optional<Number>& number) {
  if (number) json[member] = *number;
}

template <class Range, class Make>
[[nodiscard]] Json list_of(const Range& range, Make make) {
  Json list = Json::array();
  for (const auto& one : range) list.push_back(make(one));
  return list;
}
/// Names of the dataset.
[[nodiscard]] Json names_json(const std::vector<std::string>& names);

}  // namespace shale
