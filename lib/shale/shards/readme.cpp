#include "shale/shards/readme.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/path_text.hpp"
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
    "shale wrote this file, so that `datasets` and the Hub know which files are data. Add what you "
    "like:\nshale leaves it alone once it was changed.\n";
// At the end, with the hash of all before it.
constexpr std::string_view kMark = "\n<!-- as shale wrote it: ", kMarkEnd = " -->\n";
constexpr std::uint64_t kMostBytes = 64 << 20;

// Letters, digits and underscores, as `datasets` has it, and no name twice.
std::string name_for_datasets(const std::string& split, const std::vector<std::string>& taken) {
  std::string name = split;
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < 0x80 && std::isalnum(c) == 0; }, '_');
  while (std::ranges::find(taken, name) != taken.end()) name += '_';
  return name;
}

// As YAML has it between quotes.
std::string in_quotes(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string files_of(std::string_view suffix, std::span<const std::string> splits) {
  if (splits.empty()) return fmt::format(" \"*{}\"\n", suffix);
  std::string lines = "\n";
  std::vector<std::string> names;
  for (const std::string& split : splits) {
    names.push_back(name_for_datasets(split, names));
    lines += fmt::format("  - split: {}\n    path: \"{}/*{}\"\n", names.back(), in_quotes(split),
                         suffix);
  }
  return lines;
}

std::string fields_of(const std::string& folder, const Format& format, const Manifest& manifest) {
  const std::string shard =
      join_path(folder, fmt::format("{}{}", shard_name(0), format.suffixes[0]));
  if (manifest.shard_count == 0 || !stands(shard)) return {};
  LabelNames names;
  if (const auto label = label_of(manifest)) names = {*label, manifest.classes};
  return "dataset_info:\n  features:\n" +
         format.readme_fields(InputFile(shard), manifest.schema, names);
}

std::string readme_of(const std::string& folder, const Manifest& manifest,
                      std::span<const std::string> splits) {
  const Format& format = format_of(manifest);
  if (format.readme_fields == nullptr) return {};
  const std::string text = fmt::format(
      "---\n{}configs:\n- config_name: default\n  data_files:{}---\n\n{}",
      fields_of(splits.empty() ? folder : join_path(folder, splits.front()), format, manifest),
      files_of(format.suffixes.front(), splits), kText);
  return text + fmt::format("{}{}{}", kMark, xxh3_128(as_bytes(text)).hex(), kMarkEnd);
}

bool is_own(std::string_view text) {
  const std::size_t mark = text.rfind(kMark);
  if (mark == std::string_view::npos) return false;
  return text.substr(mark) ==
         fmt::format("{}{}{}", kMark, xxh3_128(as_bytes(text.substr(0, mark))).hex(), kMarkEnd);
}

// Nullopt for what no README of shale is: a folder, a link, a large file.
std::optional<std::string> text_at(const std::string& path) {
  const std::optional<struct stat> facts = facts_at(path);
  if (!facts || !S_ISREG(facts->st_mode) || facts->st_size > off_t{kMostBytes}) return std::nullopt;
  const std::vector<std::byte> bytes = read_file(path, kMostBytes);
  return std::string(as_text(bytes));
}

void write_text(const std::string& folder, const std::string& scratch, std::string_view text) {
  const std::string made = join_path(scratch, kReadmeName);
  (void)remove_file(made);  // of a run that was killed
  OutputFile file(made, {.io = IoMode::buffered, .buffer_bytes = 4096, .buffers = 1});
  file.append(as_bytes(text));
  (void)file.finish();
  rename_file(made, join_path(folder, kReadmeName));
  sync_directory(folder);
}

}  // namespace

bool put_readme(const std::string& folder, const std::string& scratch, const Manifest& manifest,
                std::span<const std::string> splits) {
  const std::string path = join_path(folder, kReadmeName);
  const std::string text = readme_of(folder, manifest, splits);
  if (stands(path)) {
    const std::optional<std::string> standing = text_at(path);
    if (!standing || !is_own(*standing)) return text.empty();
    if (*standing == text) return true;
  }
  if (!text.empty()) {
    write_text(folder, scratch, text);
  } else {
    (void)remove_file(path);
  }
  return true;
}

bool is_own_readme(const std::string& path) {
  const std::optional<std::string> text = text_at(path);
  return text && is_own(*text);
}

}  // namespace shale
