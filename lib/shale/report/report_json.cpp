#include "shale/report/report_json.hpp"

#include "shale/base/printable.hpp"
#include "shale/data/schema.hpp"

namespace shale {

Json json_of(const SampledFrom& from) { return {{"looked_at", from.looked_at}, {"of", from.of}}; }

Json histogram_json(const std::vector<HistogramBar>& bars, const SampledFrom& from,
                    const std::string& unit) {
  Json json = {{"bars", list_of(bars,
                                [](const HistogramBar& bar) {
                                  return Json{bar.low, bar.high, bar.count};
                                })},
               {"from", json_of(from)}};
  if (!unit.empty()) json["unit"] = unit;
  return json;
}

Json finding_json(const Finding& finding) {
  Json json;
  json["message"] = printable(finding.message);
  put_name(json, "file", finding.file);
  put_number(json, "byte", finding.offset);
  put_number(json, "bytes", finding.length);
  put_name(json, "shard", finding.shard);
  put_number(json, "row", finding.row);
  if (finding.sample) {
    put_name(json, "key", finding.sample->key);
    put_number(json, "sample", finding.sample->index);
  }
  put_name(json, "field", finding.field);
  put_name(json, "found", finding.found);
  put_name(json, "expected", finding.expected);
  return json;
}

Json json_of(const std::vector<Finding>& findings) { return list_of(findings, finding_json); }

Json shape_json(std::span<const std::uint64_t> shape) {
  return list_of(shape, [](std::uint64_t side) { return side == kFreeSide ? Json() : Json(side); });
}

std::uint64_t count_in(const Json& object, const char* name) {
  return object.value(name, std::uint64_t{0});
}

void put_name(Json& json, const char* member, const std::string& name) {
  if (!name.empty()) json[member] = printable(name);
}

Json names_json(const std::vector<std::string>& names) {
  return list_of(names, [](const std::string& name) { return printable(name); });
}

}  // namespace shale
