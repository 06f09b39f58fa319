#include "shale/archives/archive_path.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "shale/archives/archive_set.hpp"
#include "shale/archives/stream_path.hpp"
#include "shale/base/path_text.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/rebuild_hint.hpp"

namespace shale {
namespace {

constexpr std::string_view kBesideSuffixes[] = {".txt",    ".md",     ".csv",   ".tsv", ".json",
                                                ".jsonl",  ".idx",    ".index", ".md5", ".sha1",
                                                ".sha256", ".sha512", ".html",  ".pdf"};

// What lies beside the archives of a folder, and says something of them.
bool is_beside_archives(std::string_view name) {
  return name.starts_with('.') || name.find('.') == std::string_view::npos ||
         std::ranges::any_of(kBesideSuffixes,
                             [&](std::string_view suffix) { return name.ends_with(suffix); });
}

bool is_file(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  return facts && S_ISREG(facts->st_mode);
}

// Empty: there are other things in it.
std::vector<std::string> archives_of_folder(const std::string& folder) {
  if (facts_at(join_path(folder, kSetIndexFolder))) return {};  // they have been indexed
  std::vector<std::string> archives;
  bool are_all = true;
  visit_names(folder, [&](const std::string& name) {
    if (name == kManifestName || name == kWorkFolder) return are_all = false;
    if (has_archive_suffix(name) && !name.starts_with('.')) {
      archives.push_back(join_path(folder, name));
      return true;
    }
    return are_all = is_beside_archives(name);
  });
  if (!are_all || archives.empty()) return {};
  std::ranges::sort(archives);
  return std::ranges::all_of(archives, is_file) && archive_kind_of(archives.front())
             ? archives
             : std::vector<std::string>();
}

// By a list or a pattern.
std::vector<std::string> archives_of_names(const std::string& word) {
  const std::string_view names = word;
  const bool is_list = names.starts_with('@');
  const bool may_be_pattern = names.find_first_of("{*?[") != names.npos &&
                              (names.ends_with('}') || has_archive_suffix(names));
  if (!is_list && !may_be_pattern) return {};
  if (is_list && !is_file(word.substr(1))) return {};
  std::vector<std::string> archives;
  for (SetMember& file : files_of_set(word).value_or(std::vector<SetMember>())) {
    if (!has_archive_suffix(file.path)) return {};
    archives.push_back(std::move(file.path));
  }
  return archives;
}

// "x-{0..3}.tar/train" is the pattern and the folder.
std::optional<ArchivePath> archives_in_words(const std::string& path) {
  for (std::size_t end = path.size(); end != std::string::npos && end > 0;
       end = path.rfind('/', end - 1)) {
    std::vector<std::string> archives = archives_of_names(path.substr(0, end));
    if (archives.empty()) continue;
    return ArchivePath{std::move(archives), end < path.size() ? path.substr(end + 1) : ""};
  }
  return std::nullopt;
}

std::optional<ArchivePath> archive_at(const std::string& path) {
  const std::optional<StandingPart> part = standing_part_of_path(path);
  if (part && S_ISREG(part->facts.st_mode)) {
    if (!archive_kind_of(part->path)) return std::nullopt;
    return ArchivePath{{part->path}, part->rest};
  }
  if (!part || !part->rest.empty()) {
    if (std::optional<ArchivePath> named = archives_in_words(path)) return named;
  }
  if (!part || !S_ISDIR(part->facts.st_mode)) return std::nullopt;
  std::vector<std::string> archives = archives_of_folder(part->path);
  if (archives.empty()) return std::nullopt;
  return ArchivePath{std::move(archives), part->rest};
}

}  // namespace

std::optional<ArchivePath> archive_of_path(const std::string& path, TarsAs tars) {
  std::optional<ArchivePath> found = archive_at(path);
  if (!found || !found->folder.empty() || tars == TarsAs::files) return found;
  const std::string& first = found->archives.front();
  if (archive_kind_of(first) != ArchiveKind::tar) return found;
  return tars == TarsAs::samples || is_archive_of_samples(first) ? std::nullopt : found;
}

std::string shown_archives(const ArchivePath& path, const std::string& given) {
  constexpr std::size_t kMostShown = 200;
  if (path.archives.size() == 1 || given.size() <= kMostShown) return given;
  return fmt::format("{} and {} other archives", path.archives.front(), path.archives.size() - 1);
}

std::vector<std::string> with_archives_joined(std::vector<std::string> words) {
  const auto is_archive = [](const std::string& word) {
    return is_file(word) && archive_kind_of(word);
  };
  if (words.size() < 2 || !std::ranges::all_of(words, is_archive)) return words;
  return {word_of_files(words)};
}

}  // namespace shale
