#include "shale/datasets/hub_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

#include "shale/base/natural_order.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/field_name.hpp"
#include "shale/data/json_text.hpp"
#include "shale/datasets/yaml_text.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

constexpr std::string_view kDataFolder = "data", kTableSuffix = ".parquet", kReadme = "README.md";
constexpr std::string_view kConfigs = "configs", kInfo = "dataset_info";

bool holds_tables_alone(const std::string& folder) {
  bool are_tables = true, has_one = false;
  visit_names(folder, [&](const std::string& name) {
    if (name.starts_with('.')) return true;
    has_one = true;
    return are_tables = name.ends_with(kTableSuffix);
  });
  return are_tables && has_one;
}

// The folder with a repository in what the cache of the hub has of it: the commit that its refs
// name, or the only one. Empty: it is another folder.
std::string snapshot_in(const std::string& folder) {
  constexpr std::uint64_t kMostBytes = 256;
  const std::string snapshots = "snapshots", all = join_path(folder, snapshots);
  if (!is_real_folder(all) || !is_real_folder(join_path(folder, "blobs"))) return {};
  const std::string main = join_path(folder, "refs/main");
  if (const auto facts = facts_behind(main); facts && S_ISREG(facts->st_mode)) {
    const std::vector<std::byte> text = read_file(main, kMostBytes);
    const std::string commit(trimmed(as_text(text)));
    const bool is_name =
        !commit.empty() && commit.find('/') == std::string::npos && !commit.starts_with('.');
    if (is_name && is_real_folder(join_path(all, commit))) return join_path(snapshots, commit);
  }
  std::vector<std::string> commits;
  visit_names(all, [&](const std::string& name) {
    if (!name.starts_with('.')) commits.push_back(name);
    return commits.size() < 2;
  });
  return commits.size() == 1 ? join_path(snapshots, commits.front()) : std::string();
}

// Empty: the word says nothing of splits.
std::string_view split_of_word(std::string_view word) {
  const auto found = std::ranges::find(kSplitWords, word, &SplitWord::word);
  return found == std::end(kSplitWords) ? std::string_view() : found->split;
}

bool is_text_beside(std::string_view name) {
  constexpr std::string_view kText[] = {".md", ".json", ".txt", ".yaml", ".yml", ".py"};
  return name == "LICENSE" ||
         std::ranges::any_of(kText, [&](auto suffix) { return name.ends_with(suffix); });
}

// ---- the YAML of a README

// What stands between the first two lines "---"; empty: nothing does.
std::string front_matter_of(const std::string& readme) {
  constexpr std::uint64_t kMostBytes = 4 << 20;  // class names of some repositories are many
  constexpr std::string_view kLine = "---";
  const std::optional<struct stat> facts = facts_behind(readme);
  if (!facts || !S_ISREG(facts->st_mode)) return {};
  const InputFile file(readme);
  std::string text(std::min(kMostBytes, file.size()), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(text)));
  std::erase(text, '\r');
  if (!text.starts_with(fmt::format("{}\n", kLine))) return {};
  const std::size_t begin = kLine.size() + 1;
  const std::size_t end = text.find(fmt::format("\n{}\n", kLine), begin - 1);
  if (end == std::string::npos || end < begin) return {};
  return text.substr(begin, end + 1 - begin);
}

struct Readme {
  std::string path;
  JsonValue yaml;
};

std::string hint_at_files(const std::string& folder, const std::string& pattern) {
  return fmt::format("name the files of one split, as in 'shale info \"{}\"'",
                     printable(join_path(folder, pattern)));
}

// Of one that says something of the files, under this key; nullopt: there is none. Errors:
// Code::unsupported for YAML that cannot be read.
std::optional<Readme> readme_in(const std::string& folder, std::string_view key) {
  std::string path = join_path(folder, kReadme);
  const std::string text = front_matter_of(path);
  if (text.find(key) == std::string::npos) return std::nullopt;
  std::optional<JsonValue> yaml = parse_yaml(text);
  if (!yaml)
    throw Error(Code::unsupported, "its YAML, which has '{}', cannot be read", key)
        .at(path)
        .hint(hint_at_files(folder, "data/*.parquet"));
  if (yaml->find(key) == nullptr) return std::nullopt;
  return Readme{std::move(path), *std::move(yaml)};
}

std::string text_in(const JsonValue& object, std::string_view name) {
  const JsonValue* const found = object.find(name);
  return found == nullptr ? "" : found->text;
}

// One, or those of a list.
std::span<const JsonValue> elements_of(const JsonValue& value) {
  if (value.type == JsonValue::Type::array) return value.elements;
  return {&value, 1};
}

// ---- splits that it names

struct SplitPatterns {
  std::string name;
  std::vector<std::string> patterns;
};

void add_patterns(const JsonValue& value, SplitPatterns& split) {
  for (const JsonValue& one : elements_of(value)) split.patterns.push_back(one.text);
}

// `data_files` of a configuration: a pattern or a list of them, which are of train; a list of
// splits with their patterns; or an object of them.
std::vector<SplitPatterns> patterns_of(const JsonValue& data_files) {
  std::vector<SplitPatterns> splits;
  const auto split_of = [&](const std::string& name) -> SplitPatterns& {
    const auto known = std::ranges::find(splits, name, &SplitPatterns::name);
    return known != splits.end() ? *known : splits.emplace_back(SplitPatterns{name, {}});
  };
  if (data_files.type == JsonValue::Type::object) {
    for (std::size_t i = 0; i < data_files.names.size(); ++i)
      add_patterns(data_files.elements[i], split_of(data_files.names[i]));
    return splits;
  }
  for (const JsonValue& one : elements_of(data_files)) {
    if (one.type != JsonValue::Type::object) {
      add_patterns(one, split_of("train"));
    } else if (const JsonValue* const path = one.find("path")) {
      add_patterns(*path, split_of(text_in(one, "split")));
    }
  }
  return splits;
}

std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (const std::string_view step = path.substr(begin, end - begin); step != ".")
      steps.emplace_back(step);
    begin = end + 1;
  }
  return steps;
}

// "**" stands for any folders, or none; what else the name of one level may have fnmatch knows.
bool matches(std::span<const std::string> path, std::span<const std::string> pattern) {
  std::size_t at = 0, step = 0;
  std::optional<std::size_t> any_at, any_step;  // behind the last "**"
  while (at < path.size()) {
    if (step < pattern.size() && pattern[step] == "**") {
      any_at = at;
      any_step = ++step;
    } else if (step < pattern.size() &&
               ::fnmatch(pattern[step].c_str(), path[at].c_str(), FNM_NOESCAPE) == 0) {
      ++at;
      ++step;
    } else if (any_at) {
      at = ++*any_at;
      step = *any_step;
    } else {
      return false;
    }
  }
  while (step < pattern.size() && pattern[step] == "**") ++step;
  return step == pattern.size();
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  walk_folder(folder, {.wants_size = [](std::string_view) { return false; }},
              [&](const WalkedFile& file) {
                if (file.name != kReadme) files.push_back(join_path(file.directory, file.name));
              });
  std::ranges::sort(files, is_naturally_less);
  return files;
}

bool can_be_split(std::string_view name) {
  const auto is_in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, is_in_name) &&
         !is_dataset_file(name) && !part_of_name(name);
}

// The splits of a configuration, with patterns below the folder of the README.
std::vector<SplitPatterns> splits_of_config(const JsonValue& config) {
  std::vector<SplitPatterns> splits = patterns_of(*config.find("data_files"));
  for (SplitPatterns& split : splits) {
    for (std::string& pattern : split.patterns)
      pattern = join_path(text_in(config, "data_dir"), pattern);
  }
  return splits;
}

Error several_configurations(const Readme& readme, std::span<const JsonValue* const> all) {
  constexpr std::size_t kShown = 10;
  std::string names;
  for (const JsonValue* const one : all.first(std::min(kShown, all.size())))
    names += (names.empty() ? "" : ", ") + printable(text_in(*one, "config_name"));
  Error error(Code::unsupported, "names {} configurations of its files, and none as default: {}{}",
              all.size(), names, all.size() > kShown ? " ..." : "");
  error.at(readme.path);
  const std::vector<SplitPatterns> first = splits_of_config(*all.front());
  if (first.empty() || first.front().patterns.empty()) return error;
  return error.hint(hint_at_files(folder_of_file(readme.path), first.front().patterns.front()));
}

std::string config_name_of(const JsonValue& config) {
  const std::string name = text_in(config, "config_name");
  return name.empty() ? "default" : name;
}

// The configuration that is read: the only one, or the default one. Null: it names no files.
const JsonValue* configuration_of(const Readme& readme) {
  const JsonValue* const configs = readme.yaml.find(kConfigs);
  if (configs == nullptr) return nullptr;
  std::vector<const JsonValue*> all;
  const JsonValue* named = nullptr;
  for (const JsonValue& one : elements_of(*configs)) {
    if (one.find("data_files") == nullptr) continue;
    if (text_in(one, "default") == "true") return &one;
    if (config_name_of(one) == "default") named = &one;
    all.push_back(&one);
  }
  if (named != nullptr || all.empty()) return named;
  if (all.size() > 1) throw several_configurations(readme, all);
  return all.front();
}

// Which of the files a pattern stands for.
std::vector<std::size_t> matching(std::span<const std::string> files, std::string_view pattern) {
  const std::vector<std::string> steps = steps_of(pattern);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (matches(steps_of(files[i]), steps)) found.push_back(i);
  }
  return found;
}

bool is_table(std::string_view file) { return file.ends_with(kTableSuffix); }

std::vector<HubSplit> splits_named_in(const Readme& readme, const std::string& folder) {
  const JsonValue* const config = configuration_of(readme);
  if (config == nullptr) return {};
  const std::vector<std::string> files = files_below(folder);
  std::vector<HubSplit> splits;
  std::optional<std::string> missing;
  for (const SplitPatterns& split : splits_of_config(*config)) {
    if (!can_be_split(split.name)) {
      throw Error(Code::unsupported, "names a split '{}', which cannot be the name of one",
                  printable(split.name))
          .at(readme.path);
    }
    HubSplit found{split.name, {}};
    std::vector<bool> is_taken(files.size());
    for (const std::string& pattern : split.patterns) {
      const std::vector<std::size_t> matched = matching(files, pattern);
      if (matched.empty() && !missing) missing = pattern;
      for (const std::size_t i : matched) {
        if (!is_taken[i]) found.files.push_back(files[i]);
        is_taken[i] = true;
      }
    }
    if (!std::ranges::all_of(found.files, is_table)) return {};  // of another kind of files
    if (!found.files.empty()) splits.push_back(std::move(found));
  }
  const auto table = std::ranges::find_if(files, is_table);
  if (missing && table != files.end()) {  // else it may be anything's
    throw Error(Code::unsupported, "names files '{}', and there is none", printable(*missing))
        .at(readme.path)
        .hint(hint_at_files(folder, *table));
  }
  return splits;
}

// ---- splits that names tell

// "train_sft" of "train_sft-00000-of-00003.parquet", as `push_to_hub` names files; empty: it is
// another name.
std::string split_of_numbered(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789", kOf = "-of-";
  constexpr std::size_t kLeastDigits = 5;
  const std::size_t of = name.rfind(kOf);
  if (of == std::string_view::npos) return {};
  const std::size_t first = name.find_last_not_of(kDigits, of - 1),
                    behind = name.find_first_not_of(kDigits, of + kOf.size());
  const bool is_numbered = first != std::string_view::npos && first > 0 && name[first] == '-' &&
                           of - first > kLeastDigits && behind != std::string_view::npos &&
                           behind - of - kOf.size() >= kLeastDigits;
  return is_numbered ? std::string(name.substr(0, first)) : std::string();
}

std::vector<HubSplit> splits_of_numbered(const std::string& folder, const std::string& below) {
  std::vector<HubSplit> splits;
  std::vector<std::string> names;
  visit_names(folder, [&](const std::string& name) {
    if (name.ends_with(kTableSuffix) && !name.starts_with('.')) names.push_back(name);
    return true;
  });
  std::ranges::sort(names, is_naturally_less);
  for (const std::string& name : names) {
    const std::string split = split_of_numbered(name);
    if (!can_be_split(split)) return {};
    const auto known = std::ranges::find(splits, split, &HubSplit::name);
    HubSplit& one =
        known != splits.end() ? *known : splits.emplace_back(HubSplit{.name = split, .files = {}});
    one.files.push_back(join_path(below, name));
  }
  return splits;
}

// Of a folder with nothing but text and folders of tables that are named after splits.
std::vector<HubSplit> splits_in_folders(const std::string& folder, const std::string& below) {
  std::vector<HubSplit> splits;
  std::vector<std::string> folders;  // of the splits
  bool are_splits = true;
  visit_names(folder, [&](const std::string& name) {
    const std::string path = join_path(folder, name);
    if (name.starts_with('.') || is_text_beside(name)) return true;
    const std::string split(split_of_word(name));
    are_splits = !split.empty() && is_real_folder(path) && holds_tables_alone(path) &&
                 std::ranges::find(splits, split, &HubSplit::name) == splits.end();
    splits.push_back({split, {}});
    folders.push_back(name);
    return are_splits;
  });
  if (!are_splits) return {};
  for (std::size_t i = 0; i < splits.size(); ++i) {
    HubSplit& split = splits[i];
    visit_names(join_path(folder, folders[i]), [&](const std::string& name) {
      if (!name.starts_with('.'))
        split.files.push_back(join_path(join_path(below, folders[i]), name));
      return true;
    });
    std::ranges::sort(split.files, is_naturally_less);
  }
  return splits;
}

// The folder of a configuration without README: alone, or the first of several, which are an error.
std::string folder_of_configuration(const std::string& folder) {
  std::vector<std::string> found;
  bool are_all = true;
  visit_names(folder, [&](const std::string& name) {
    const std::string path = join_path(folder, name);
    if (name.starts_with('.') || is_text_beside(name)) return true;
    are_all = is_real_folder(path) && split_of_word(name).empty() &&
              (holds_tables_alone(path) || !splits_in_folders(path, "").empty());
    found.push_back(name);
    return are_all;
  });
  if (!are_all || found.empty()) return {};
  std::ranges::sort(found);
  if (found.size() == 1) return found.front();
  constexpr std::size_t kShown = 10;
  std::string shown;
  for (const std::string& name : std::span(found).first(std::min(kShown, found.size())))
    shown += (shown.empty() ? "" : ", ") + printable(name);
  throw Error(Code::unsupported, "holds Parquet files in {} folders: {}{}", found.size(), shown,
              found.size() > kShown ? " ..." : "")
      .at(folder)
      .hint(fmt::format("name one of them, as in 'shale info {}'",
                        shell_word(join_path(folder, found.front()))));
}

// ---- class names

// {'0': cat, '1': dog}, or a list. Empty: they are not those of 0, 1, 2 ..., or no names of
// classes, which differ.
std::vector<std::string> names_of_classes(const JsonValue& names) {
  std::vector<std::string> classes;
  if (names.type == JsonValue::Type::array) {
    for (const JsonValue& name : names.elements) classes.push_back(name.text);
  }
  for (std::size_t label = 0; label < names.names.size(); ++label) {
    const JsonValue* const name = names.find(std::to_string(label));
    if (name == nullptr) return {};
    classes.push_back(name->text);
  }
  const std::set<std::string_view> all(classes.begin(), classes.end());
  return all.size() == classes.size() && !all.contains("") ? classes : std::vector<std::string>();
}

struct HubClasses {
  std::string field;
  std::vector<std::string> names;
  bool are_of_lists = false;
};

// Of `features`, and of those that they are made of.
void add_class_features(const JsonValue& features, const std::string& above,
                        std::vector<HubClasses>& all) {
  if (features.type != JsonValue::Type::array) return;
  for (const JsonValue& feature : features.elements) {
    const std::string own = text_in(feature, "name");
    std::string name = above;
    if (!above.empty() && !own.empty()) name += '.';
    name += own;
    for (const std::string_view key : {"dtype", "list", "sequence", "struct"}) {
      const JsonValue* const type = feature.find(key);
      if (type == nullptr) continue;
      const JsonValue* const label = type->find("class_label");
      const JsonValue* const names = label == nullptr ? nullptr : label->find("names");
      if (names != nullptr) {
        std::vector<std::string> found = names_of_classes(*names);
        if (!found.empty()) all.push_back({name, std::move(found), key != "dtype"});
      } else if (key != "dtype") {
        add_class_features(*type, name, all);
      }
    }
  }
}

// Whether a file is one of a configuration. Without any, the only one that is described is all
// files', and of several one is the files' in a folder of its name.
bool is_file_of(const Readme& readme, const std::string& file, const std::string& config) {
  namespace fs = std::filesystem;
  const JsonValue* const configs = readme.yaml.find(kConfigs);
  if (configs == nullptr) {
    const bool is_only = elements_of(*readme.yaml.find(kInfo)).size() == 1;
    return is_only || file.find("/" + config + "/") != std::string::npos;
  }
  const std::string name = fs::absolute(file).lexically_normal().lexically_relative(
      fs::absolute(folder_of_file(readme.path)).lexically_normal());
  for (const JsonValue& one : elements_of(*configs)) {
    if (config_name_of(one) != config || one.find("data_files") == nullptr) continue;
    for (const SplitPatterns& split : splits_of_config(one)) {
      if (std::ranges::any_of(split.patterns, [&](const std::string& pattern) {
            return matches(steps_of(name), steps_of(pattern));
          }))
        return true;
    }
  }
  return false;
}

std::vector<HubClasses> classes_in(const Readme& readme, const std::string& file) {
  std::vector<HubClasses> all;
  for (const JsonValue& one : elements_of(*readme.yaml.find(kInfo))) {
    const JsonValue* const features = one.find("features");
    if (features != nullptr && is_file_of(readme, file, config_name_of(one)))
      add_class_features(*features, "", all);
  }
  return all;
}

// Beside the file, or up to two folders above: what lies there may be anybody's, and unreadable.
std::optional<Readme> readme_above(const std::string& file) try {
  constexpr int kMostFolders = 3;
  std::string folder = folder_of_file(file);
  for (int i = 0; i < kMostFolders; ++i) {
    if (std::optional<Readme> readme = readme_in(folder, kInfo)) return readme;
    folder = join_path(folder, "..");
  }
  return std::nullopt;
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace

std::string folder_of_files(const std::string& path) {
  const std::string snapshot = snapshot_in(path);
  std::string folder = snapshot.empty() ? path : join_path(path, snapshot);
  const std::string data = join_path(folder, std::string(kDataFolder));
  if (!is_real_folder(data)) return folder;
  bool is_alone = true;
  visit_names(folder, [&](const std::string& name) {
    return is_alone = name == kDataFolder || name.starts_with('.') || is_text_beside(name);
  });
  return is_alone && holds_tables_alone(data) ? data : folder;
}

std::vector<HubSplit> splits_of_hub(const std::string& folder) {
  if (const std::string snapshot = snapshot_in(folder); !snapshot.empty()) {
    std::vector<HubSplit> splits = splits_of_hub(join_path(folder, snapshot));
    for (HubSplit& split : splits) {
      for (std::string& file : split.files) file = join_path(snapshot, file);
    }
    return splits;
  }
  if (const std::optional<Readme> readme = readme_in(folder, kConfigs)) {
    std::vector<HubSplit> splits = splits_named_in(*readme, folder);
    if (!splits.empty()) return splits;
  }
  const std::string files = folder_of_files(folder);
  const std::string below = files == folder ? "" : std::string(kDataFolder);
  const bool is_data =
      std::filesystem::path(join_path(files, ".")).lexically_normal().parent_path().filename() ==
      kDataFolder;
  if (is_data && holds_tables_alone(files)) return splits_of_numbered(files, below);
  for (const std::string_view one : {std::string_view(), kDataFolder}) {
    const std::string path = one.empty() ? folder : join_path(folder, one);
    if (!one.empty() && !is_real_folder(path)) continue;
    std::vector<HubSplit> splits = splits_in_folders(path, std::string(one));
    if (!splits.empty()) return splits;
  }
  const std::string one = folder_of_configuration(folder);
  if (one.empty()) return {};
  std::vector<HubSplit> splits = splits_in_folders(join_path(folder, one), one);
  return splits.empty() ? splits_of_numbered(join_path(folder, one), one) : splits;
}

void add_hub_classes(Manifest& manifest, const std::string& file) {
  if (!file.ends_with(kTableSuffix)) return;
  const std::optional<Readme> readme = readme_above(file);
  if (!readme) return;
  for (HubClasses& classes : classes_in(*readme, file)) {
    const std::string field = field_name_of(classes.field);
    const std::optional<std::size_t> place = manifest.schema.find(kLabelField);
    const bool is_label = field == kLabelField && !classes.are_of_lists && place &&
                          manifest.schema.fields[*place].kind == Kind::integer;
    if (is_label && manifest.classes.empty()) manifest.classes = std::move(classes.names);
    if (!is_label)
      manifest.left_out.add({.kind = "names", .name = classes.field, .reason = "not_class_names"});
  }
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
