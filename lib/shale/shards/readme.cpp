#include "shale/shards/readme.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/yaml_string.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/format/format.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {
namespace {

constexpr std::string_view kText =
    "\nshale wrote the lines above, so that `datasets` and the Hub know which files are data. "
    "Write here what you like.\n";
constexpr std::string_view kFence = "---\n";
// The last of the lines, with the hash of all before it.
constexpr std::string_view kMark = "# written by shale, and again as long as nobody changes it: ";
constexpr std::string_view kConfigs = "configs:\n";
constexpr std::uint64_t kMostBytes = 64 << 20;

// Letters, digits and underscores, as `datasets` has it, no name twice, and not its word for all.
std::string name_for_datasets(const std::string& split, const std::vector<std::string>& taken) {
  std::string name = split;
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < 0x80 && std::isalnum(c) == 0; }, '_');
  while (name == "all" || std::ranges::find(taken, name) != taken.end()) name += '_';
  return name;
}

// A pattern that fits this folder alone; a colon would begin the address of a server.
std::string pattern_of(std::string_view folder) {
  std::string pattern;
  for (const char c : folder)
    pattern += std::string_view("[*?:").find(c) == std::string_view::npos ? std::string(1, c)
                                                                          : fmt::format("[{}]", c);
  return pattern;
}

std::string files_in(std::string_view split, std::string_view suffix) {
  return fmt::format("    path: {}\n",
                     yaml_string(fmt::format("{}/*{}", pattern_of(split), suffix)));
}

std::string files_of(std::string_view suffix, std::span<const std::string> splits) {
  if (splits.empty()) return fmt::format(" \"*{}\"\n", suffix);
  std::string lines = "\n";
  std::vector<std::string> names;
  for (const std::string& split : splits) {
    names.push_back(name_for_datasets(split, names));
    lines += fmt::format("  - split: {}\n", yaml_string(names.back())) + files_in(split, suffix);
  }
  return lines;
}

// Empty: the format has none, or there are no samples.
std::string fields_of(const std::string& folder, const Manifest& manifest) {
  const Format& format = format_of(manifest);
  if (format.readme_fields == nullptr || manifest.shard_count == 0) return {};
  const std::string shard =
      join_path(folder, fmt::format("{}{}", shard_name(0), format.suffixes[0]));
  if (!stands(shard)) return {};
  LabelNames names;
  if (const auto label = label_of(manifest)) names = {*label, manifest.classes};
  return "dataset_info:\n  features:\n" +
         format.readme_fields(InputFile(shard), manifest.schema, names);
}

// Empty: the format wants none.
std::string lines_for(const std::string& folder, const Manifest& manifest,
                      std::span<const std::string> splits) {
  const Format& format = format_of(manifest);
  if (format.readme_fields == nullptr) return {};
  return fmt::format(
      "{}{}- config_name: default\n  data_files:{}",
      fields_of(splits.empty() ? folder : join_path(folder, splits.front()), manifest), kConfigs,
      files_of(format.suffixes.front(), splits));
}

std::string marked(std::string_view lines) {
  return fmt::format("{}{}{}{}\n{}", kFence, lines, kMark, xxh3_128(as_bytes(lines)).hex(), kFence);
}

// Nullopt for what no README of shale is: a folder, a link, a large file.
std::optional<std::string> text_at(const std::string& path) {
  const std::optional<struct stat> facts = facts_at(path);
  if (!facts || !S_ISREG(facts->st_mode) || facts->st_size > off_t{kMostBytes}) return std::nullopt;
  const std::vector<std::byte> bytes = read_file(path, kMostBytes);
  return std::string(as_text(bytes));
}

struct OwnReadme {
  std::string lines, text;  // as lines_for has it; what is below
};

// Nullopt: shale did not write its first lines, or somebody changed them.
std::optional<OwnReadme> own_readme_at(const std::string& path) {
  const std::optional<std::string> text = text_at(path);
  const std::size_t mark = text ? text->find(kMark) : std::string::npos;
  if (mark == std::string::npos || mark < kFence.size()) return std::nullopt;
  const std::string lines = text->substr(kFence.size(), mark - kFence.size()), head = marked(lines);
  if (!text->starts_with(head)) return std::nullopt;
  return OwnReadme{lines, text->substr(head.size())};
}

void write_text(const std::string& path, const std::string& scratch, std::string_view text) {
  const std::string made = join_path(scratch, kReadmeName);
  (void)remove_file(made);  // of a run that was killed
  OutputFile file(made, {.io = IoMode::buffered, .buffer_bytes = 4096, .buffers = 1});
  file.append(as_bytes(text));
  (void)file.finish();
  rename_file(made, path);
  sync_directory(std::filesystem::path(path).parent_path().string());
}

}  // namespace

void put_readme(const std::string& folder, const std::string& scratch, const Manifest& manifest,
                std::span<const std::string> splits) {
  const std::string path = join_path(folder, kReadmeName);
  const std::string lines = lines_for(folder, manifest, splits);
  const std::optional<OwnReadme> own = own_readme_at(path);
  if ((stands(path) && !own) || lines == (own ? own->lines : "")) return;
  const std::string text = own ? own->text : std::string(kText);
  if (!lines.empty()) {
    write_text(path, scratch, marked(lines) + text);
  } else if (text != kText) {
    write_text(path, scratch, text);
  } else {
    (void)remove_file(path);
  }
}

void settle_readme_of_splits(const std::string& folder, const std::string& scratch,
                             const Manifest& manifest) {
  // Without a slash at its end.
  const std::filesystem::path split =
      (std::filesystem::absolute(folder) / "").lexically_normal().parent_path();
  const std::string path = join_path(split.parent_path().string(), kReadmeName);
  const std::optional<OwnReadme> own = own_readme_at(path);
  if (!own) return;
  const std::string_view lines = own->lines;
  const std::string name = split.filename().string(), fields = fields_of(folder, manifest);
  const std::size_t configs = lines.find(kConfigs);
  const bool is_split = lines.find(fmt::format(" \"{}/*", pattern_of(name))) != lines.npos;
  if (!is_split || configs == lines.npos || configs == 0 || lines.substr(0, configs) == fields)
    return;
  write_text(path, scratch, marked(lines.substr(configs)) + own->text);
}

std::string note_on_readme(const std::string& folder, const Manifest& manifest) {
  const std::string path = join_path(folder, kReadmeName);
  if (format_of(manifest).readme_fields == nullptr || !stands(path) || own_readme_at(path))
    return {};
  return fmt::format(
      "{} stays as it is: `datasets` takes files, splits and class names as its first lines say; "
      "shale writes them if the file is not there",
      printable(path));
}

bool is_own_readme(const std::string& path) { return own_readme_at(path).has_value(); }

}  // namespace shale
