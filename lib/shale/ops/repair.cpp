#include "shale/ops/repair.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <sys/stat.h>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/tar_stream.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/datasets/rebuild_index.hpp"
#include "shale/encoding/duplicates.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/ops/make_shards_again.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/side_folder.hpp"
#include "shale/shards/strays.hpp"
#include "shale/sources/joined_words.hpp"
#include "shale/sources/named_folders.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;
using Remedy = RepairedFile::Remedy;

constexpr std::uint64_t kCopiedBytes = 1 << 20;

// What is wrong with a file; empty: nothing. A link is not followed: it would be replaced, not what
// it leads to.
std::string fault_of(const std::string& path, const ManifestFile& expected, const Events& events) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return "is missing";
    throw Error(Code::io, "cannot be looked at").at(path).because_errno(errno);
  }
  try {
    const InputFile file(path);
    if (file.size() != expected.bytes)
      return fmt::format("has {} bytes, expected {}", file.size(), expected.bytes);
    const Hash128 found = summarize_file(file, [&](auto) { events.stop_if_asked(); }).hash;
    return found == expected.hash ? ""
                                  : fmt::format("has other content: found xxh3-128 {}, expected {}",
                                                found.hex(), expected.hash.hex());
  } catch (const Error& error) {
    if (error.code() == Code::not_found || error.code() == Code::unsupported)
      return error.message();
    if (error.code() == Code::damaged) return "changes while it is read";
    throw;
  }
}

bool is_link_or_folder(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
}

// Several files, or one under a name: "x=x.npy". What is in them is found out when they are opened.
bool are_named_files(const std::vector<std::string>& words) {
  if (words.size() == 1 && path_in_word(words.front()) == words.front()) return false;
  return std::ranges::all_of(words, [](const std::string& word) {
    const std::string path = path_in_word(word);
    const Place place = look_at(path);
    if (place == Place::absent && path != word) throw absent(path);
    return place == Place::other_file;
  });
}

/// A dataset that is looked through, and put right.
class Repair {
 public:
  Repair(const RepairRequest& request, const Events& events)
      : request_(request), events_(events), paths_(request.dataset) {
    const Place place = look_at(request_.dataset);
    if (place == Place::absent) throw absent(request_.dataset);
    if (place == Place::unfinished) throw unfinished(request_.dataset);
    if (place == Place::other_file) {
      throw Error(Code::unsupported, "is a file: a dataset that is one directory can be repaired")
          .at(request_.dataset);
    }
    if (place == Place::other_folder) {
      if (const std::optional<Error> error = several_datasets(request_.dataset))
        throw Error(*error);
    }
    std::vector<std::string> sources = {request_.from};
    sources.insert(sources.end(), request_.more_from.begin(), request_.more_from.end());
    if (!find_named_folders(sources).empty() || !find_joined_groups(sources).empty() ||
        are_named_files(sources))
      return;
    if (!request_.more_from.empty()) {
      throw Error(Code::usage,
                  "--from is given {} times, but not with inputs that are joined, each with a name",
                  sources.size())
          .at(request_.from)
          .hint("name them all, as they were converted: --from x=x.npy --from y=y.h5");
    }
    if (archive_of_path(request_.from)) return;
    if (stream_of_path(request_.from)) return;
    if (look_at(request_.from) == Place::absent) throw absent(request_.from);
    std::error_code error;
    if (!fs::equivalent(request_.dataset, request_.from, error)) return;
    throw Error(Code::usage, "--from names the dataset itself")
        .at(request_.from)
        .hint("pass a copy of the dataset, or what it was made from");
  }

  RepairPlan plan() {
    find_damage();
    if (!report_.files.empty()) {
      WorkFolder::refuse_unwritable(request_.dataset);
      const DamagedParts damaged = damaged_parts();
      if (!damaged.is_empty() && !holds_copies())
        refuse_other_source(request_, shards_, damaged, temporary_folder(), events_);
    }
    return std::move(report_);
  }

  RepairReport run() {
    side_.emplace(request_.dataset);
    try {
      find_damage();
      if (!report_.files.empty()) put_right();
    } catch (...) {
      side_->remove();
      throw;
    }
    side_->remove();
    side_.reset();
    rebuild_indexes();
    return std::move(report_);
  }

 private:
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return join_path(request_.dataset, name);
  }
  [[nodiscard]] std::string path_of_copy(const std::string& name) const {
    return join_path(request_.from, name);
  }

  void find_manifest() {
    ++report_.checked;
    try {
      shards_ = open_shard_list(paths_, request_.memory_bytes);
      return;
    } catch (const Error& error) {
      if (error.code() != Code::damaged && error.code() != Code::not_found) throw;
      RepairedFile manifest;
      manifest.file.name = kManifestName;
      manifest.fault = error.code() == Code::not_found ? "is missing" : error.message();
      report_.files.push_back(std::move(manifest));
    }
    if (!is_manifest_in(request_.from)) {
      throw Error(Code::damaged, "{}, and only a copy of the dataset has another one",
                  report_.files.front().fault)
          .at(paths_.manifest)
          .hint("pass a copy of the dataset with --from");
    }
    shards_ = open_shard_list(DatasetPaths(request_.from), request_.memory_bytes);
    if (!holds_shard_of(shards_)) {
      throw Error(Code::mismatch,
                  "no file of a shard is as this manifest says: it may be of another dataset")
          .at(DatasetPaths(request_.from).manifest)
          .hint("pass a copy of this very dataset");
    }
  }

  static bool is_manifest_in(const std::string& folder) {
    return look_at(folder) == Place::dataset;
  }

  [[nodiscard]] bool holds_shard_of(const ShardList& shards) const {
    const auto is_whole = [&](const ManifestFile& file) {
      return !file.name.empty() && fault_of(path_of(file.name), file, events_).empty();
    };
    for (const ManifestShard& shard : shards) {
      const std::vector<const ManifestFile*> lists = shard.lists();
      if (std::any_of(shard.files.begin(), shard.files.end(), is_whole) ||
          std::any_of(lists.begin(), lists.end(),
                      [&](const ManifestFile* list) { return is_whole(*list); }))
        return true;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t all_bytes() const {
    std::uint64_t bytes = 0;
    for (const ManifestShard& shard : shards_) {
      for (const ManifestFile& file : shard.files) bytes += file.bytes;
      bytes += shard.list_bytes();
    }
    for (const ManifestFile& file : shards_.manifest().files) bytes += file.bytes;
    return bytes;
  }

  void find_damage() {
    find_manifest();
    all_bytes_ = all_bytes();
    std::vector<RepairedFile> files;
    const auto add = [&](const ManifestFile& file, std::optional<std::uint64_t> shard,
                         bool is_data) {
      if (!file.name.empty())
        files.push_back(
            {.file = file, .shard = shard, .is_data = is_data, .fault = {}, .obstacle = {}});
    };
    for (std::uint64_t number = 0; number < shards_.size(); ++number) {
      const ManifestShard shard = shards_[number];
      for (const ManifestFile& file : shard.files) add(file, number, true);
      for (const ManifestFile* list : shard.lists()) add(*list, number, false);
      check(files);
    }
    for (const ManifestFile& file : shards_.manifest().files) add(file, std::nullopt, false);
    check(files);
    drain(0);
    const Strays strays = strays_beside(request_.dataset, shards_.manifest());
    report_.stray_count = strays.count;
    for (const FolderEntry& entry : strays.first) report_.strays.push_back(entry.name);
  }

  // Hands the files to the workers, and keeps those that are damaged, in order.
  void check(std::vector<RepairedFile>& files) {
    for (RepairedFile& file : files) {
      ++report_.checked;
      checks_.submit([this, file = std::move(file)](unsigned) mutable {
        file.fault = fault_of(path_of(file.file.name), file.file, events_);
        return std::move(file);
      });
    }
    files.clear();
    drain(std::size_t{2} * request_.jobs);
  }

  void drain(std::size_t left) {
    while (checks_.pending() > left) {
      RepairedFile file = checks_.take();
      const std::uint64_t file_bytes = file.file.bytes;
      if (!file.fault.empty()) report_.files.push_back(std::move(file));
      events_.stop_if_asked();
      done_bytes_ += file_bytes;
      events_.report(done_bytes_, all_bytes_, done_bytes_);
    }
  }

  void put_right() {
    const bool is_copy = holds_copies();
    for (RepairedFile& file : report_.files) {
      if (is_link_or_folder(path_of(file.file.name))) {
        file.obstacle = "a link or a directory is not replaced";
      } else if (is_copy && file.file.name != kManifestName) {
        copy(file);
      }
    }
    if (!is_copy) make_again();
    find_duplicates_again();
    for (RepairedFile& file : report_.files) {
      if (file.file.name == kManifestName && file.obstacle.empty()) copy_manifest(file);
    }
  }

  void copy(RepairedFile& file) {
    const std::string path = path_of_copy(file.file.name);
    events_.stop_if_asked();
    std::optional<InputFile> opened;
    try {
      opened.emplace(path);
    } catch (const Error& error) {
      if (error.code() != Code::not_found && error.code() != Code::unsupported) throw;
      file.obstacle = error.code() == Code::not_found ? "the copy does not have it"
                                                      : "in the copy it " + error.message();
      return;
    }
    const InputFile& source = *opened;
    if (source.size() != file.file.bytes) {
      file.obstacle = fmt::format("the copy has {} bytes", source.size());
      return;
    }
    // Beside a damaged file, which stays until the new one is whole.
    require_room(request_.dataset, {.bytes = source.size(), .files = 1},
                 "free some space on this file system, then run it again");
    const std::string made = join_path(side_->work().path(), file.file.name);
    if (copied(source, made).hash == file.file.hash) {
      publish(made, file, Remedy::copied);
    } else {
      file.obstacle = "the copy is damaged, too";
      (void)remove_file(made);
    }
  }

  [[nodiscard]] FileSummary copied(const InputFile& source, const std::string& to) const {
    OutputFile made(to, data_file_options(request_.io, request_.memory_bytes));
    std::vector<std::byte> piece(std::min(kCopiedBytes, source.size()));
    while (made.size() < source.size()) {
      events_.stop_if_asked();
      piece.resize(std::min<std::uint64_t>(piece.size(), source.size() - made.size()));
      source.read_exact(made.size(), piece);
      made.append(piece);
    }
    return made.finish();
  }

  void publish(const std::string& made, RepairedFile& file, Remedy remedy) const {
    rename_file(made, path_of(file.file.name));
    sync_directory(request_.dataset);
    file.remedy = remedy;
    file.obstacle.clear();
  }

  // Last: a dataset without its manifest is not read.
  void copy_manifest(RepairedFile& file) const {
    const std::string made = join_path(side_->work().path(), kManifestName);
    (void)copied(InputFile(DatasetPaths(request_.from).manifest), made);
    (void)read_manifest(DatasetPaths(side_->work().path()));
    publish(made, file, Remedy::copied);
  }

  [[nodiscard]] bool is_left(const RepairedFile& file) const {
    return file.remedy == Remedy::none && file.obstacle.empty();
  }

  // What takes the source.
  [[nodiscard]] DamagedParts damaged_parts() const {
    DamagedParts damaged;
    for (const RepairedFile& file : report_.files) {
      if (!file.shard && file.file.name != kManifestName && !is_of_duplicates(file))
        damaged.lists.push_back(file.file.name);
      const bool is_new = damaged.shards.empty() || damaged.shards.back() != file.shard;
      if (is_left(file) && file.is_data && is_new) damaged.shards.push_back(*file.shard);
    }
    return damaged;
  }

  void make_again() {
    const DamagedParts damaged = damaged_parts();
    if (damaged.is_empty()) return;
    shale::make_again(request_, shards_, damaged, side_->work(), events_,
                      {.shard = [&](std::uint64_t number,
                                    const ManifestShard& shard) { publish_shard(number, shard); },
                       .list = [&](const ManifestFile& list) { publish_made(list, list.name); }});
    for (RepairedFile& file : report_.files) {
      if (is_left(file) && (file.is_data || !file.shard) && file.file.name != kManifestName &&
          !is_of_duplicates(file))
        file.obstacle =
            shards_.manifest().runs.empty()
                ? "made again it does not exist: the source has changed"
                : "it was made from another of the inputs; run it again with that one, too";
    }
  }

  static bool is_of_duplicates(const RepairedFile& file) {
    return is_list_name(file.file.name, kDuplicatesName);
  }

  // The shards say it, if they and their indexes are whole.
  void find_duplicates_again() {
    for (RepairedFile& file : report_.files) {
      if (!is_of_duplicates(file) || file.remedy != Remedy::none) continue;
      if (is_link_or_folder(path_of(file.file.name))) continue;
      file.obstacle.clear();
      const bool has_shards = std::ranges::none_of(report_.files, [](const RepairedFile& other) {
        return other.shard && other.remedy == Remedy::none;
      });
      if (!has_shards) {
        file.obstacle = "shards that it is made from are damaged; run it again when they are not";
        continue;
      }
      make_duplicates_again(file);
    }
  }

  // The list of a run has the samples of that run, or of all before it, too, if nobody had looked
  // for their duplicates.
  void make_duplicates_again(const RepairedFile& file) {
    const Manifest& manifest = shards_.manifest();
    std::uint64_t run = 0, first_row = 0, shards = 0;
    for (; list_name(kDuplicatesName, run) != file.file.name && run < manifest.runs.size(); ++run) {
      first_row += manifest.runs[run].samples;
      shards += manifest.runs[run].shards;
    }
    shards = run < manifest.runs.size() ? shards + manifest.runs[run].shards : shards_.size();
    const ForEachShard of_run = [&](const auto& visit) {
      for (std::uint64_t number = 0; number < shards; ++number) visit(shards_[number]);
    };
    DuplicateSearch search{.shards = {{paths_, of_run}},
                           .first_row = first_row,
                           .folder = side_->work().path(),
                           .list_name = file.file.name,
                           .memory_bytes = request_.memory_bytes / 8};
    for (const std::uint64_t first : {first_row, std::uint64_t{0}}) {
      search.first_row = first;
      const auto made = find_duplicates(manifest, search, events_).list;
      if (made && made->hash == file.file.hash) return publish_made(*made, file.file.name);
    }
    publish_made({}, file.file.name);
  }

  // A dataset is a copy if its manifest says the same; without a manifest, files of these names
  // are. What is taken from it is proved by its hash.
  [[nodiscard]] bool holds_copies() const {
    if (is_manifest_in(request_.from)) try {
        const Manifest theirs = read_manifest(DatasetPaths(request_.from));
        const Manifest& ours = shards_.manifest();
        return theirs.format == ours.format && theirs.shard_count == ours.shard_count &&
               theirs.digest.ordered == ours.digest.ordered && theirs.options == ours.options;
      } catch (const Error& error) {
        if (error.code() != Code::damaged) throw;
      }
    return std::any_of(report_.files.begin(), report_.files.end(), [&](const RepairedFile& file) {
      std::error_code error;
      const std::string path = path_of_copy(file.file.name);
      // Anybody may have a list of such a name beside photos.
      return fs::exists(path, error) &&
             (file.shard || fs::file_size(path, error) == file.file.bytes);
    });
  }

  // A file in the work folder, for the damaged file of this name, if it is damaged.
  void publish_made(const ManifestFile& made, const std::string& name) {
    for (RepairedFile& file : report_.files) {
      if (file.file.name != name || !is_left(file)) continue;
      if (made.bytes == file.file.bytes && made.hash == file.file.hash) {
        publish(join_path(side_->work().path(), made.name), file, Remedy::made_again);
      } else {
        file.obstacle = fmt::format(
            "made again it is another file ({} bytes, xxh3-128 {}): the source has changed, or "
            "{} wrote other bytes",
            made.bytes, made.hash.hex(), shards_.manifest().generator);
      }
    }
  }

  void publish_shard(std::uint64_t number, const ManifestShard& made) {
    const ManifestShard expected = shards_[number];
    const auto take = [&](const ManifestFile& from, const ManifestFile& to) {
      publish_made(from, to.name);
    };
    for (std::size_t i = 0; i < std::min(made.files.size(), expected.files.size()); ++i)
      take(made.files[i], expected.files[i]);
    take(made.index, expected.index);
    take(made.elements, expected.elements);
    take(made.blocks, expected.blocks);
  }

  // Of shards that are whole: what is left are their indexes and block lists.
  void rebuild_indexes() {
    if (std::none_of(report_.files.begin(), report_.files.end(), [&](const RepairedFile& file) {
          return is_left(file) || (file.shard && !file.is_data && file.remedy == Remedy::none);
        }))
      return;
    const RebuildReport rebuilt = rebuild_index(request_.dataset, events_);
    for (RepairedFile& file : report_.files) {
      if (!file.shard || file.is_data || file.remedy != Remedy::none) continue;
      const RebuiltShard& shard = rebuilt.shards[*file.shard];
      const bool is_block_list = file.file.name.ends_with(kBlocksSuffix);
      if (is_block_list ? shard.blocks_written : shard.index_written) {
        file.remedy = Remedy::rebuilt;
        file.obstacle.clear();
      } else if (file.obstacle.empty()) {
        file.obstacle = "the shard that it describes is damaged";
      }
    }
  }

  const RepairRequest& request_;
  const Events& events_;
  const DatasetPaths paths_;
  std::optional<SideFolder> side_;
  ShardList shards_;
  RepairReport report_;
  std::uint64_t all_bytes_ = 0, done_bytes_ = 0;
  OrderedPipeline<RepairedFile> checks_{std::max(1U, request_.jobs)};  // last: uses the others
};

}  // namespace

std::string_view name_of(RepairedFile::Remedy remedy) {
  switch (remedy) {
    case Remedy::none:
      return "none";
    case Remedy::copied:
      return "copied";
    case Remedy::made_again:
      return "made again";
    case Remedy::rebuilt:
      return "rebuilt";
  }
  return "";
}

std::uint64_t RepairReport::left() const {
  return static_cast<std::uint64_t>(
      std::count_if(files.begin(), files.end(),
                    [](const RepairedFile& file) { return file.remedy == Remedy::none; }));
}

RepairReport repair(const RepairRequest& request, const Events& events) {
  return Repair(request, events).run();
}

RepairPlan plan(const RepairRequest& request, const Events& events) {
  return Repair(request, events).plan();
}

}  // namespace shale
