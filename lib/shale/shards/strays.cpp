#include "shale/shards/strays.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostStrays = 1000;

struct ByName {
  bool operator()(const FolderEntry& a, const FolderEntry& b) const { return a.name < b.name; }
};

bool lists_file(const Manifest& manifest, std::string_view name) {
  return lists_shard_file(manifest, name) ||
         std::any_of(manifest.files.begin(), manifest.files.end(),
                     [&](const ManifestFile& file) { return file.name == name; });
}

// Of an append that was interrupted before its manifest stood, or that was finished while the set
// is verified: its files are next to those of the set.
std::vector<Manifest> manifests_of_appends(const std::string& directory) {
  const std::string work = join_path(directory, kWorkFolder);
  std::vector<Manifest> manifests;
  const auto add = [&](const std::string& folder) {
    try {
      Manifest manifest = read_manifest(folder);
      if (!manifest.runs.empty()) manifests.push_back(std::move(manifest));
    } catch (const Error&) {  // there is none, or it proves nothing
    }
  };
  add(directory);
  if (work_folder_at(work) == WorkFolderState::ours) add(join_path(work, WorkFolder::kNewName));
  return manifests;
}

}  // namespace

Strays strays_beside(const std::string& directory, const Manifest& manifest) {
  std::set<FolderEntry, ByName> strays;
  Strays found;
  const auto look_at_entry = [&](const FolderEntry& entry) {
    if (!is_dataset_file(entry.name) || entry.name == kManifestName ||
        lists_file(manifest, entry.name))
      return false;
    strays.insert(entry);
    ++found.count;
    if (strays.size() > kMostStrays) strays.erase(std::prev(strays.end()));
    return false;
  };
  (void)list_folder(directory, look_at_entry);
  if (strays.empty()) return found;
  const std::vector<Manifest> appends = manifests_of_appends(directory);
  found.count -= std::erase_if(strays, [&](const FolderEntry& entry) {
    return std::any_of(appends.begin(), appends.end(),
                       [&](const Manifest& append) { return lists_file(append, entry.name); });
  });
  found.first.assign(strays.begin(), strays.end());
  return found;
}

}  // namespace shale
