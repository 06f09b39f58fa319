#include "shale/sources/array_words.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <sys/stat.h>

#include "shale/arrays/array_columns.hpp"
#include "shale/arrays/array_file.hpp"
#include "shale/base/path_text.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/datasets/set_index.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

bool is_file_at(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  return facts && S_ISREG(facts->st_mode);
}

void refuse_changed_array(const std::string& file, const std::string& index_folder,
                          const Events& events) {
  const DatasetPaths paths = paths_of_index(file, index_folder);
  if (!is_manifest(paths.manifest)) return;
  const ShardList shards = open_shard_list(paths);
  if (const auto change = change_of_indexed(InputFile(file), shards.manifest(), shards.only(),
                                            [&events] { events.stop_if_asked(); }))
    throw stale_index(file, index_folder, shards.manifest(), *change);
}

// The paths of a set's files, as its index has them, else each with its own.
std::vector<std::string> files_as_indexed(const DatasetRequest& request,
                                          const std::vector<SetMember>& files,
                                          std::vector<std::string>& notes, const Events& events) {
  std::vector<std::string> paths;
  if (std::optional<OpenedDataset> set = open_set_index(request, files, events)) {
    for (const ManifestShard& shard : set->shards)
      paths.push_back(join_path(set->paths.shards, shard.files[0].name));
    std::ranges::move(set->notes, std::back_inserter(notes));
    return paths;
  }
  for (const SetMember& file : files) {
    events.stop_if_asked();
    refuse_changed_array(file.path, request.index_folder, events);
    paths.push_back(file.path);
  }
  return paths;
}

// Files of any kind, instead of the folders, patterns and lists that stand for them.
std::vector<std::string> raw_words(const std::vector<std::string>& words) {
  std::vector<std::string> read;
  for (const std::string& word : words) {
    const std::string path = path_in_word(word);
    const std::string name = word.substr(0, word.size() - path.size());
    std::optional<std::vector<SetMember>> files;
    if (!is_file_at(path)) files = files_of_any_kind(path);
    if (!files) read.push_back(word);
    for (const SetMember& file : files.value_or(std::vector<SetMember>()))
      read.push_back(name + file.path);
  }
  return read;
}

}  // namespace

ArrayWords words_as_indexed(const std::vector<std::string>& words, const std::string& index_folder,
                            const RawNumbers& raw, const Events& events) {
  if (raw.is_given()) return {.words = raw_words(words), .notes = {}};
  ArrayWords read;
  const bool are_files = words.size() > 1 && std::ranges::all_of(words, is_file_at);
  if (are_files && !index_folder.empty()) {
    std::vector<SetMember> files;
    files.reserve(words.size());
    for (const std::string& word : words) files.push_back({word, word});
    read.words = files_as_indexed({.path = {}, .files = files, .index_folder = index_folder}, files,
                                  read.notes, events);
    return read;
  }
  for (const std::string& word : words) {
    const std::string path = path_in_word(word);
    const bool is_file = is_file_at(path);
    if (is_file && is_array_file(InputFile(path))) refuse_changed_array(path, index_folder, events);
    const auto files = is_file ? std::nullopt : files_of_set(path);
    if (!files || !is_array_file(InputFile(files->front().path))) {
      read.words.push_back(word);
      continue;
    }
    const std::string name = word.substr(0, word.size() - path.size());
    for (const std::string& file :
         files_as_indexed({.path = path, .index_folder = index_folder}, *files, read.notes, events))
      read.words.push_back(name + file);
  }
  return read;
}

}  // namespace shale
