#include "shale/datasets/hub_folder.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"

namespace shale {
namespace {

constexpr std::string_view kDataFolder = "data", kTableSuffix = ".parquet";

bool holds_tables_alone(const std::string& folder) {
  bool are_tables = true, has_one = false;
  visit_names(folder, [&](const std::string& name) {
    if (name.starts_with('.')) return true;
    has_one = true;
    return are_tables = name.ends_with(kTableSuffix);
  });
  return are_tables && has_one;
}

}  // namespace

std::string folder_of_files(const std::string& folder) {
  const std::string data = join_path(folder, std::string(kDataFolder));
  if (!is_real_folder(data)) return folder;
  constexpr std::string_view kText[] = {".md", ".json", ".txt", ".yaml", ".yml", ".py"};
  bool is_alone = true;
  visit_names(folder, [&](const std::string& name) {
    const bool is_text = name == "LICENSE" || std::ranges::any_of(kText, [&](auto suffix) {
                           return name.ends_with(suffix);
                         });
    return is_alone = name == kDataFolder || name.starts_with('.') || is_text;
  });
  return is_alone && holds_tables_alone(data) ? data : folder;
}

std::optional<Error> saved_as_arrow(const std::string& folder) {
  const auto has = [&](std::string_view name) {
    return facts_behind(join_path(folder, std::string(name))).has_value();
  };
  const bool is_one = has("state.json") && has("dataset_info.json");
  if (!is_one && !has("dataset_dict.json")) return std::nullopt;
  const std::string each = is_one ? "d.to_parquet('FILE.parquet')"
                                  : "[s.to_parquet(f'{n}.parquet') for n, s in d.items()]";
  return Error(Code::unsupported,
               "was saved by Dataset.save_to_disk as Arrow files, which are not supported")
      .at(folder)
      .hint(fmt::format("export it: python3 -c \"import datasets; d = "
                        "datasets.load_from_disk('{}'); {}\"",
                        printable(folder), each));
}

}  // namespace shale
