#include "tools/listed_arrays.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"

#include "tools/facts.hpp"

namespace shale::tools {
namespace {

Json attribute_facts(const std::vector<NamedText>& attributes) {
  Json json = Json::object();
  for (const auto& [name, text] : attributes) json[printable(name)] = printable(text);
  return json;
}

std::string attributes_text(const std::vector<NamedText>& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", printable(name), printable(value));
  return text;
}

std::string line_of(std::string_view what, std::string_view value) {
  return fmt::format("  {:<9}{}\n", what, value);
}

// How many samples there are, if that is certain.
std::optional<std::uint64_t> samples_in(const FileContents& contents) {
  if (!contents.samples || !contents.samples->is_clear) return std::nullopt;
  return contents.samples->count;
}

}  // namespace

void add_array_facts(Json& json, const DatasetInfo& info) {
  const FileContents& contents = *info.contents;
  json["arrays"] = Json::array();
  for (const ListedArray& array : contents.arrays) {
    Json one = {{"path", printable(array.path)},
                {"type", printable(array.type)},
                {"shape", array.shape},
                {"stored_bytes", array.stored_bytes}};
    if (!array.compression.empty()) one["compression"] = array.compression;
    if (!array.attributes.empty()) one["attributes"] = attribute_facts(array.attributes);
    if (!array.obstacle.empty()) one["obstacle"] = array.obstacle;
    json["arrays"].push_back(std::move(one));
  }
  if (!contents.others.empty()) json["others"] = contents.others;
  if (contents.more > 0) json["more"] = contents.more;
  if (!contents.attributes.empty()) json["attributes"] = attribute_facts(contents.attributes);
  json["commands"] = info.commands;
}

Json arrays_facts(const DatasetInfo& info) {
  Json json = {{"version", kInfoVersion},
               {"kind", "arrays"},
               {"complete", true},
               {"format", info.contents->format},
               {"obstacle", info.obstacle->message()}};
  if (const auto samples = samples_in(*info.contents)) json["samples"] = *samples;
  add_array_facts(json, info);
  return json;
}

std::string listed_arrays_text(const DatasetInfo& info) {
  constexpr std::size_t kWidest = 48;
  const FileContents& contents = *info.contents;
  std::size_t path_width = 0, type_width = 0;
  std::vector<std::string> paths, types;
  for (const ListedArray& array : contents.arrays) {
    paths.push_back(printable(array.path));
    types.push_back(printable(array.type) +
                    (array.shape.empty() ? "" : " " + shape_text(array.shape)));
    path_width = std::min(kWidest, std::max(path_width, paths.back().size()));
    type_width = std::min(kWidest, std::max(type_width, types.back().size()));
  }
  std::string text = line_of(
      std::string(contents.noun) + "s",
      format_count(paths.size()) + (contents.more > 0 ? ", and more that are not listed" : ""));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const ListedArray& array = contents.arrays[i];
    text += fmt::format("    {:<{}}  {:<{}}  {}", paths[i], path_width, types[i], type_width,
                        format_size(array.stored_bytes));
    if (!array.compression.empty()) text += "  " + array.compression;
    if (!array.attributes.empty()) text += "  [" + attributes_text(array.attributes) + "]";
    text += "\n";
  }
  if (!contents.others.empty())
    text += line_of("others", fmt::format("{}", fmt::join(contents.others, ", ")));
  if (!contents.attributes.empty()) text += line_of("attrs", attributes_text(contents.attributes));
  const bool is_read_whole = !info.obstacle && info.manifest.left_out.count() == 0;
  for (const std::string& command : info.commands) {
    if (!is_read_whole) text += line_of("convert", command);
  }
  return text;
}

std::string arrays_text(const DatasetInfo& info, const std::string& path) {
  const FileContents& contents = *info.contents;
  std::string text =
      fmt::format("{}: a file of another tool, not read in place\n", printable(path)) +
      line_of("reason", info.obstacle->message());
  if (const auto samples = samples_in(contents)) {
    text += line_of("samples", fmt::format("{}, a group each in '{}'", format_count(*samples),
                                           printable(contents.samples->parent)));
  }
  return text + listed_arrays_text(info);
}

}  // namespace shale::tools
