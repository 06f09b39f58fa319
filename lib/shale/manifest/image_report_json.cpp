#include "shale/manifest/image_report_json.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <nlohmann/json.hpp>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

using ReportJson = nlohmann::ordered_json;

Error odd_report(std::string_view member) {
  return Error(Code::damaged, "the report of images is not as shale writes it: its '{}'", member);
}

// A member that holds nothing but whole numbers, by their names.
NamedCounts counts_in(const ReportJson& report, const char* name) {
  const auto found = report.find(name);
  if (found == report.end() || !found->is_object()) throw odd_report(name);
  NamedCounts counts;
  for (const auto& entry : found->items()) {
    if (!entry.value().is_number_unsigned()) throw odd_report(name);
    counts[printable(entry.key())] = entry.value().get<std::uint64_t>();
  }
  return counts;
}

// A member that is an array of arrays of N whole numbers.
template <std::size_t N>
std::vector<std::array<std::uint64_t, N>> rows_in(const ReportJson& sizes, const char* name) {
  const auto is_row = [](const ReportJson& row) {
    return row.is_array() && row.size() == N &&
           std::ranges::all_of(row, [](const auto& cell) { return cell.is_number_unsigned(); });
  };
  const auto found = sizes.find(name);
  if (found == sizes.end() || !found->is_array() || !std::ranges::all_of(*found, is_row))
    throw odd_report(name);
  return found->get<std::vector<std::array<std::uint64_t, N>>>();
}

ImageSizes sizes_of(const ReportJson& json) {
  ImageSizes sizes;
  for (const auto& [bound, count] : rows_in<2>(json, "shorter")) sizes.shorter[bound] = count;
  for (const auto& [bound, count] : rows_in<2>(json, "longer")) sizes.longer[bound] = count;
  for (const auto& [width, height, count] : rows_in<3>(json, "aspects"))
    sizes.aspects[{width, height}] = count;
  return sizes;
}

ReportJson json_of(const ImageSizes& sizes) {
  ReportJson shorter = ReportJson::array(), longer = shorter, aspects = shorter;
  for (const auto& [bound, count] : sizes.shorter)
    shorter.push_back(ReportJson::array({bound, count}));
  for (const auto& [bound, count] : sizes.longer)
    longer.push_back(ReportJson::array({bound, count}));
  for (const auto& [aspect, count] : sizes.aspects)
    aspects.push_back(ReportJson::array({aspect[0], aspect[1], count}));
  return {{"shorter", shorter}, {"longer", longer}, {"aspects", aspects}};
}

}  // namespace

std::string image_report_json(const ImageReport& report) {
  ReportJson json = {{"types", report.types}, {"odd", report.odd}};
  if (!report.changed.empty()) json["changed"] = report.changed;
  if (!report.sizes.is_empty()) json["sizes"] = json_of(report.sizes);
  if (const auto& duplicates = report.duplicates) {
    json["duplicates"] = {{"samples", duplicates->samples}, {"relabelled", duplicates->relabelled}};
  }
  return json.dump();
}

ImageReport parse_image_report(std::string_view text) {
  const ReportJson json = ReportJson::parse(text);
  if (!json.is_object()) throw odd_report("images");
  ImageReport report;
  report.types = counts_in(json, "types");
  report.odd = counts_in(json, "odd");
  if (json.contains("changed")) report.changed = counts_in(json, "changed");
  if (json.contains("sizes")) report.sizes = sizes_of(json["sizes"]);
  if (json.contains("duplicates")) {
    const NamedCounts counts = counts_in(json, "duplicates");
    if (!counts.contains("samples") || !counts.contains("relabelled"))
      throw odd_report("duplicates");
    report.duplicates = {counts.at("samples"), counts.at("relabelled")};
  }
  return report;
}

}  // namespace shale
