#include "shale/datasets/set_index.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/file_fingerprint.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/rebuild_hint.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

std::string absolute_path(const std::string& path) {
  return fs::absolute(path).lexically_normal().string();
}

// How a set is named by its words, for commands that are shown.
std::string name_of_set(const DatasetRequest& request) {
  return request.files.empty() ? request.path : "FILE...";
}

std::string command_of(const DatasetRequest& request, const Manifest& manifest) {
  return index_command(name_of_set(request), request.index_folder, parsing_of(manifest.layout),
                       manifest.layout.has_checksums);
}

Error changed_member(const std::string& file, std::string_view change,
                     const DatasetRequest& request, const Manifest& manifest) {
  return changed_file(file, change)
      .hint(fmt::format("run '{}': it indexes the changed files again",
                        command_of(request, manifest)));
}

// One that cannot be read is made again from the files.
ShardList open_lines(const DatasetRequest& request, const DatasetPaths& paths) try {
  return open_shard_list(paths, request.memory_bytes);
} catch (const Error& error) {
  if (error.code() != Code::damaged) throw;
  throw Error(Code::damaged, "{}", error.message())
      .at(error.file(), error.offset())
      .because(error.cause())
      .hint(fmt::format(
          "run '{}': it indexes the set again",
          index_command(name_of_set(request), request.index_folder, request.parsing, false)));
}

// Finds the files that the lines of an index name among those of the set.
class Members {
 public:
  explicit Members(const std::vector<std::string>& names) : names_(names) {}

  // The place behind the last one where the order is the same; nullopt: it is not there.
  std::optional<std::size_t> find(const std::string& name) {
    if (next_ < names_.size() && names_[next_] == name) return take(next_);
    if (places_.empty()) {
      for (std::size_t place = names_.size(); place-- > 0;) places_[names_[place]] = place;
    }
    const auto found = places_.find(name);
    if (found == places_.end()) return std::nullopt;
    is_in_order_ = is_in_order_ && found->second >= next_;
    return take(found->second);
  }
  [[nodiscard]] bool is_in_order() const { return is_in_order_; }
  // Those that no line names.
  [[nodiscard]] std::vector<std::size_t> others() const {
    std::vector<std::size_t> others;
    for (std::size_t place = 0; place < names_.size(); ++place) {
      if (!is_taken_[place]) others.push_back(place);
    }
    return others;
  }

 private:
  std::size_t take(std::size_t place) {
    is_taken_[place] = true;
    next_ = place + 1;
    return place;
  }

  const std::vector<std::string>& names_;
  std::unordered_map<std::string_view, std::size_t> places_;
  std::vector<bool> is_taken_ = std::vector<bool>(names_.size());
  std::size_t next_ = 0;
  bool is_in_order_ = true;
};

// Files without a byte have no samples, and no line.
void note_new_files(OpenedDataset& set, const DatasetRequest& request,
                    const std::vector<SetMember>& files, const std::vector<std::size_t>& others) {
  std::size_t count = 0;
  const SetMember* first = nullptr;
  for (const std::size_t place : others) {
    const std::optional<struct stat> facts = facts_behind(files[place].path);
    if (!facts || facts->st_size == 0) continue;
    if (count++ == 0) first = &files[place];
  }
  if (first == nullptr) return;
  set.notes.push_back(fmt::format("{} not in the index, and not read: {}{}; '{}' takes {}",
                                  format_counted(count, "file is", "files are"),
                                  printable(first->name), count > 1 ? " ..." : "",
                                  command_of(request, set.manifest), count > 1 ? "them" : "it"));
}

// Of the set, not compared with its files. `path`: empty for one that is not one folder.
std::optional<OpenedDataset> read_lines(const DatasetRequest& request, const std::string& path) {
  const std::string folder = folder_of_set_index(path, request.index_folder);
  if (folder.empty()) return std::nullopt;
  OpenedDataset set;
  set.paths = DatasetPaths(folder);
  if (!is_manifest(set.paths.manifest)) return std::nullopt;
  set.shards = open_lines(request, set.paths);
  set.manifest = set.shards.manifest();
  if (!is_file_set(set.manifest)) return std::nullopt;
  set.manifest.source.kind = kFileListKind;
  return set;
}

bool is_as_wanted(const Manifest& manifest, const DatasetRequest& request) {
  return request.axes.empty() &&
         (!request.parsing.is_given() || is_parsed_so(manifest.layout, request.parsing)) &&
         (!request.with_checksums || manifest.layout.has_checksums);
}

}  // namespace

std::string folder_of_set_index(const std::string& path, const std::string& index_folder) {
  if (!index_folder.empty()) return index_folder;
  const std::optional<struct stat> facts = facts_behind(path);
  return facts && S_ISDIR(facts->st_mode) ? join_path(path, kSetIndexFolder) : std::string();
}

bool has_vanished(const std::string& file) {
  return !stands(file) && stands(file.substr(0, file.rfind('/')));
}

RootedFiles rooted(const std::string& path, const std::vector<SetMember>& files) {
  RootedFiles all;
  const std::optional<struct stat> facts = path.empty() ? std::nullopt : facts_behind(path);
  if (facts && S_ISDIR(facts->st_mode)) {
    all.folder = absolute_path(path);
    const std::size_t begin = join_path(path, "").size();
    for (const SetMember& file : files) all.names.push_back(file.path.substr(begin));
    return all;
  }
  for (const SetMember& file : files) {
    all.names.push_back(absolute_path(file.path));
    const std::string& name = all.names.back();
    if (all.folder.empty()) all.folder = name.substr(0, name.rfind('/') + 1);
    while (!name.starts_with(all.folder))
      all.folder.erase(all.folder.rfind('/', all.folder.size() - 2) + 1);
  }
  for (std::string& name : all.names) name.erase(0, all.folder.size());
  return all;
}

std::optional<OpenedDataset> open_large_set(const DatasetRequest& request,
                                            std::uint64_t most_sized_files) {
  if (!request.trusts_names || !request.files.empty()) return std::nullopt;
  if (const auto facts = facts_behind(request.path); !facts || !S_ISDIR(facts->st_mode))
    return std::nullopt;
  std::optional<OpenedDataset> set = read_lines(request, request.path);
  if (!set || set->shards.size() <= most_sized_files || !is_as_wanted(set->manifest, request))
    return std::nullopt;
  std::vector<std::uint64_t> name_hashes;
  name_hashes.reserve(set->shards.size());
  set->bytes = set->shards.bytes([&](const ManifestShard& shard) {
    const std::string_view name = shard.files.empty() ? std::string_view() : shard.files[0].name;
    name_hashes.push_back(xxh3_64(as_bytes(name)));
  });
  if (!are_files_of_folder(std::move(name_hashes), request.path)) return std::nullopt;
  set->paths.shards = absolute_path(request.path);
  set->notes.push_back(
      fmt::format("the index and the names of the files were read, not the files: 'shale verify "
                  "{}' compares them",
                  printable(request.path)));
  return set;
}

std::optional<OpenedDataset> open_set_index(const DatasetRequest& request,
                                            const std::vector<SetMember>& files,
                                            const Events& events) {
  const std::string path = request.files.empty() ? request.path : std::string();
  std::optional<OpenedDataset> found = read_lines(request, path);
  if (!found) return std::nullopt;
  OpenedDataset& set = *found;
  RootedFiles all = rooted(path, files);
  set.paths.shards = all.folder;
  Members members(all.names);
  set.shards.for_each([&](const ManifestShard& shard) {
    events.stop_if_asked();
    const ManifestFile& file = shard.files[0];
    const std::optional<std::size_t> place = members.find(file.name);
    const std::string file_path =
        place ? files[*place].path : join_path(is_real_folder(path) ? path : all.folder, file.name);
    const std::optional<struct stat> facts = place ? facts_behind(file_path) : std::nullopt;
    if (!facts) {
      throw Error(Code::damaged, "is missing, but the index of its set lists it")
          .at(file_path)
          .hint(fmt::format("put it back, or run '{}' to index the set without it",
                            command_of(request, set.manifest)));
    }
    if (const auto bytes = static_cast<std::uint64_t>(facts->st_size); bytes != file.bytes)
      throw changed_member(file_path, fmt::format("it had {} bytes, now {}", file.bytes, bytes),
                           request, set.manifest);
    set.file_states.push_back(*shard.state);
  });
  if (!members.is_in_order()) {
    throw Error(Code::mismatch, "its files were indexed in another order")
        .at(request.path)
        .hint(fmt::format("run '{}' to index the set in this order",
                          command_of(request, set.manifest)));
  }
  note_new_files(set, request, files, members.others());
  if (!request.trusts_sizes) refuse_changed_members(request, set, events);
  return is_as_wanted(set.manifest, request) ? std::move(found) : std::nullopt;
}

void refuse_changed_members(const DatasetRequest& request, const OpenedDataset& set,
                            const Events& events) {
  for (std::uint64_t number = 0; number < set.shards.size(); ++number) {
    const InputFile file(join_path(set.paths.shards, set.shards[number].files[0].name));
    const FileFingerprint now = fingerprint_of(file, [&] { events.stop_if_asked(); });
    if (const auto difference = first_difference(set.file_states[number], now))
      throw changed_member(file.path(), fmt::format("it has the same size, but {}", *difference),
                           request, set.manifest);
  }
}

void refuse_set_index(const Manifest& manifest, const std::string& path) {
  if (!is_file_set(manifest)) return;
  throw Error(Code::usage, "is the index of a set of files, not the set")
      .at(path)
      .hint("name the folder of the files, or their pattern or list, with --index-dir");
}

}  // namespace shale
