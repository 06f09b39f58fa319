#include "shale/ops/merge.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/encoding/duplicates.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/ops/parts.hpp"
#include "shale/ops/sample_writer.hpp"
#include "shale/requests/choose_output.hpp"
#include "shale/shards/common_keys.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/key_check.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/readme.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/sources/input_kind.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/identity.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

// That of all parts together is made again.
constexpr std::string_view kLists[] = {kSkippedName, kIgnoredName, kImagesName};
constexpr std::uint64_t kDuplicatesMemory = 32 << 20;
constexpr std::uint64_t kCopyBytes = 4 << 20;
constexpr std::string_view kUnproved = ".copy";  // of a copy under way

Error cannot_remove(const std::string& path) {
  const int error = errno;
  return Error(Code::io, "cannot remove what an earlier merge left").at(path).because_errno(error);
}

Error not_whole(const std::string& fact, const std::vector<std::uint64_t>& numbers,
                std::string_view hint) {
  return Error(Code::mismatch, "{}: {}", fact, array_expression(numbers)).hint(hint);
}

// Every part once, complete, and of one run.
void refuse_unfit(const PartsReport& found) {
  for (const FoundPart& part : found.parts) {
    if (part.state == PartState::other_run) {
      throw Error(Code::mismatch, "is a part of another run: {}", part.fault)
          .at(part.path)
          .hint("leave it out, or write it again with the options of the others");
    }
    if (part.state == PartState::damaged) {
      throw Error(Code::damaged, "part {} is damaged: {}", part.number.index, part.fault)
          .at(part.path)
          .hint(
              "write it again with 'shale convert ... --overwrite', or restore it from an intact "
              "copy");
    }
    if (part.state == PartState::unfinished) {
      throw Error(Code::mismatch, "part {} is unfinished", part.number.index)
          .at(part.path)
          .hint("run the command that was writing it again");
    }
  }
  for (std::size_t i = 1; i < found.parts.size(); ++i) {
    const FoundPart &part = found.parts[i], &other = found.parts[i - 1];
    if (part.number != other.number) continue;
    throw Error(Code::mismatch, "{}", twice(part, other)).at(part.path).hint("name one of the two");
  }
  if (!found.absent.empty()) {
    throw not_whole(fmt::format("of {} parts these are missing", found.count), found.absent,
                    "write them with 'shale convert --part I/N', or name the directories that "
                    "hold them");
  }
}

// True if no two samples of a run can have the same key, whoever wrote which part: keys that are
// paths, or numbers, or were unique in another dataset.
bool has_unique_keys(const Manifest& manifest) {
  return !manifest.layout.has_keys || !manifest.schema.has_keys ||
         made_from(manifest.source.kind).has_unique_keys;
}

// What one manifest says of all parts together.
class JoinedManifest {
 public:
  void add(const Manifest& part) {
    if (parts_++ == 0) {
      joined_ = part;
      joined_.part.reset();
      joined_.files.clear();
      return;
    }
    append_totals(joined_, part);
    if (joined_.source.digest && part.source.digest)
      joined_.source.digest->append(*part.source.digest);
    if (joined_.source.kind != kProgramKind) return;
    joined_.source.samples += part.source.samples;
    joined_.source.bytes += part.source.bytes;
  }

  [[nodiscard]] Manifest finish() && {
    if (joined_.source.kind == kProgramKind)
      joined_.source.fingerprint = fingerprint_of_stream(joined_.digest);
    return std::move(joined_);
  }

 private:
  Manifest joined_;
  std::uint64_t parts_ = 0;
};

// The parts of a run, in order.
class Parts {
 public:
  Parts(const PartsReport& found, const Events& events) : events_(events) {
    JoinedManifest joined;
    std::optional<Manifest> first;
    for (const FoundPart& part : found.parts) {
      events.stop_if_asked();
      paths_.push_back(part.path);
      const InputFile file(DatasetPaths(part.path).manifest);
      Manifest manifest = read_manifest_outline(file).manifest;
      hashes_.push_back(self_hash_of(file));
      if (first && difference_of_runs(*first, manifest)) throw changed(part.path);
      joined.add(manifest);
      if (!first) first = std::move(manifest);
    }
    manifest_ = std::move(joined).finish();
  }

  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }

  // Which parts, in which state: a merge that was stopped goes on with these only.
  [[nodiscard]] std::string description() const {
    Hasher128 hasher;
    for (const std::string& hash : hashes_) hasher.update(as_bytes(hash));
    return identity_line({{std::string(kMergeMember), hasher.digest().hex()}});
  }

  // With the path of its part, and as it is called in the whole.
  template <class Use>
  void for_each_shard(Use use) const {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const ShardList shards = open_shard_list(paths_[i]);
      for (const ManifestShard& shard : shards) {
        events_.stop_if_asked();
        use(paths_[i], shard, renamed(shard, number++));
      }
    }
  }

  // A part that is written again in the meantime has given up some of its files.
  void refuse_changes() const {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      if (look_at(paths_[i]) != Place::dataset ||
          self_hash_of(InputFile(DatasetPaths(paths_[i]).manifest)) != hashes_[i])
        throw changed(paths_[i]);
    }
  }

 private:
  static Error changed(const std::string& path) {
    return Error(Code::mismatch, "was written again while it was merged")
        .at(path)
        .hint("run the same command again when all parts are complete");
  }

  [[nodiscard]] ManifestShard renamed(ManifestShard shard, std::uint64_t number) const {
    const std::string name = shard_name(number);
    const auto rename = [&](ManifestFile& file) {
      if (!file.name.empty()) file.name = name + file.name.substr(shard.name.size());
    };
    for (ManifestFile& file : shard.files) rename(file);
    for (ManifestFile* list : {&shard.index, &shard.elements, &shard.blocks}) rename(*list);
    shard.name = name;
    return shard;
  }

  const Events& events_;
  std::vector<std::string> paths_, hashes_;
  Manifest manifest_;
};

bool are_one_file(const std::string& one, const std::string& other) {
  struct stat left {
  }, right{};
  return ::stat(one.c_str(), &left) == 0 && ::stat(other.c_str(), &right) == 0 &&
         left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

// Brings files of parts into the work folder under new names.
class Gathering {
 public:
  Gathering(const WorkFolder& work, const Events& events, MergeReport& report)
      : work_(work), events_(events), report_(report) {}

  void take(const std::string& folder, const ManifestFile& file, const std::string& new_name) {
    if (file.name.empty()) return;
    const std::string from = join_path(folder, file.name), to = join_path(work_.path(), new_name);
    if (const std::uint64_t bytes = InputFile(from).size(); bytes != file.bytes) {
      throw Error(Code::damaged, "has {} bytes, but its manifest says {}", bytes, file.bytes)
          .at(from);
    }
    report_.file_bytes += file.bytes;
    if (stands(to)) {
      if (are_one_file(from, to)) return count_link();
      // A copy gets its name when it is proved and durable.
      if (InputFile(to).size() == file.bytes) return count_copy(file);
      if (!remove_file(to)) throw cannot_remove(to);
    }
    if (!copies_ && link_file(from, to)) return count_link();
    begin_copying();
    copy(from, to, file);
    count_copy(file);
  }

 private:
  void count_link() { ++report_.linked_files; }
  void count_copy(const ManifestFile& file) {
    ++report_.copied_files;
    report_.copied_bytes += file.bytes;
  }

  void begin_copying() {
    if (std::exchange(copies_, true)) return;
    events_.say(
        "files of the parts cannot be linked into the output (another file system, or one without "
        "hard links): they are copied, and each copy is compared with its hash");
  }

  void copy(const std::string& from, const std::string& to, const ManifestFile& expected) {
    require_free_space(work_.path(), expected.bytes,
                       "free some space, then run the same command "
                       "again");
    const std::string unproved = to + std::string(kUnproved);
    const InputFile in(from);
    OutputFile out(unproved, {.io = IoMode::automatic, .buffer_bytes = kCopyBytes, .buffers = 2});
    std::vector<std::byte> piece(
        std::min<std::uint64_t>(kCopyBytes, std::max<std::uint64_t>(in.size(), 1)));
    for (std::uint64_t offset = 0; offset < in.size(); offset += piece.size()) {
      events_.stop_if_asked();
      piece.resize(std::min<std::uint64_t>(piece.size(), in.size() - offset));
      in.read_exact(offset, piece);
      out.append(piece);
    }
    const FileSummary written = out.finish();
    if (written.bytes != expected.bytes || written.hash != expected.hash) {
      throw Error(Code::damaged, "hashes to {}, but its manifest says {}", written.hash.hex(),
                  expected.hash.hex())
          .at(from)
          .hint(
              "write it again with 'shale convert ... --overwrite', or restore it from an intact "
              "copy");
    }
    rename_file(unproved, to);
  }

  const WorkFolder& work_;
  const Events& events_;
  MergeReport& report_;
  bool copies_ = false;
};

// The rows of a list of all parts, as one run would have written them.
void join_list(const Parts& parts, std::string_view name, const WorkFolder& work,
               const Events& events, Manifest& manifest) {
  std::optional<CsvList> joined;
  (void)remove_file(join_path(work.path(), name));
  for (const std::string& part : parts.paths()) {
    events.stop_if_asked();
    const Manifest of_part = read_manifest(part);
    for (const ManifestFile& file : of_part.files) {
      if (file.name != name) continue;
      const std::string path = join_path(part, name);
      prove_file(InputFile(path), file);
      read_csv(path, [&](std::uint64_t row, CsvRow fields) {
        const std::vector<std::string> texts(fields.begin(), fields.end());
        if (!joined) return void(joined.emplace(work.path(), std::string(name), texts));
        if (row > 1) joined->add(texts);
      });
    }
  }
  if (!joined) return;
  if (std::optional<ManifestFile> file = joined->finish()) manifest.files.push_back(*file);
}

// The output stands: it must be what these parts make.
void refuse_other_content(const std::string& output, const Manifest& stands,
                          const Manifest& wanted) {
  if (stands.digest == wanted.digest && !difference_of_runs(stands, wanted)) return;
  throw Error(Code::exists, "already holds a finished dataset, not that of these parts")
      .at(output)
      .hint("choose another output");
}

// Only files that are in the output under another name.
void remove_parts(const MergeRequest& request, const std::vector<std::string>& paths,
                  const Events& events) {
  std::set<std::string> hashes;
  (void)read_manifest(request.output, [&](const ManifestShard& shard) {
    hashes.insert(shard.files.front().hash.hex() + shard.blocks.hash.hex());
  });
  for (const std::string& path : paths) {
    events.stop_if_asked();
    (void)read_manifest(path, [&](const ManifestShard& shard) {
      if (hashes.contains(shard.files.front().hash.hex() + shard.blocks.hash.hex())) return;
      throw Error(Code::exists, "{} of this part is not in {}: it is not removed", shard.name,
                  printable(request.output))
          .at(path)
          .hint("if it is of another run, merge it into another output");
    });
    remove_set(SetPlace::of_dataset(path));
  }
}

// Directories of parts whose files are removed already.
void remove_empty_folders(const MergeRequest& request) {
  for (const std::string& path : request.parts) {
    if (part_of_name(fs::path(fs::absolute(path)).filename().string())) {
      ::rmdir(path.c_str());
    } else if (is_real_folder(path)) {
      std::vector<std::string> folders;
      visit_names(path, [&](const std::string& name) {
        if (part_of_name(name)) folders.push_back(join_path(path, name));
        return true;
      });
      for (const std::string& folder : folders) ::rmdir(folder.c_str());
    }
  }
}

// A merge that was stopped when it removed the parts goes on with those that are left.
MergeReport finish_move(const MergeRequest& request, const PartsReport& found,
                        const Events& events) {
  MergeReport report;
  report.was_complete = true;
  std::vector<std::string> left;
  report.manifest = refuse_incomplete(request.output);
  for (const FoundPart& part : found.parts) {
    if (part.state == PartState::unfinished || part.state == PartState::other_run) continue;
    left.push_back(part.path);
    ++report.parts;
  }
  WorkFolder::clear_left(request.output);
  remove_parts(request, left, events);
  remove_empty_folders(request);
  return report;
}

void gather(const Parts& parts, const WorkFolder& work, const Events& events, MergeReport& report) {
  Gathering gathering(work, events, report);
  std::uint64_t done = 0;
  parts.for_each_shard(
      [&](const std::string& folder, const ManifestShard& shard, const ManifestShard& renamed) {
        for (std::size_t i = 0; i < shard.files.size(); ++i)
          gathering.take(folder, shard.files[i], renamed.files[i].name);
        gathering.take(folder, shard.index, renamed.index.name);
        gathering.take(folder, shard.elements, renamed.elements.name);
        gathering.take(folder, shard.blocks, renamed.blocks.name);
        events.report(++done, report.manifest.shard_count, report.file_bytes);
      });
}

// Of a merge that was stopped: shards are whole under their names, all else is written again.
void keep_whole_files(const WorkFolder& work) {
  std::vector<std::string> others;
  for (const auto& entry : fs::directory_iterator(work.path())) {
    const std::string name = entry.path().filename().string();
    if (!shard_of_file(name) || name.ends_with(kUnproved)) others.push_back(entry.path().string());
  }
  for (const std::string& path : others) {
    if (!remove_file(path)) throw cannot_remove(path);
  }
}

void prove_keys(const Parts& parts, const std::string& scratch_folder, const Events& events) {
  if (has_unique_keys(parts.manifest())) return;
  std::vector<ShardsIn> sides;
  for (const std::string& path : parts.paths()) {
    sides.push_back({DatasetPaths(path), [path](const ShardVisitor& visit) {
                       const ShardList shards = open_shard_list(path);
                       for (const ManifestShard& shard : shards) visit(shard);
                     }});
  }
  if (const auto key = key_in_common(parts.manifest(), sides, scratch_folder, events))
    throw key_is_not_unique(*key);
}

void refuse_other_merge(const std::string& output, const std::string& previous,
                        const Parts& parts) {
  if (previous.empty() || previous == parts.description()) return;
  throw Error(Code::exists, "holds an unfinished run that is not the merge of these parts")
      .at(output)
      .hint("run that command again to finish it, or choose another output");
}

// What cannot be looked at holds none.
std::vector<std::string> splits_beside(const std::string& folder) try {
  return splits_of_parts_in(folder);
} catch (const Error&) {
  return {};
}

// Beside what becomes of the first of several splits: parts have no README.md, and one without the
// other splits would not be missed.
void put_readme_of_splits(const std::string& output, const Parts& parts, const WorkFolder& work) {
  const auto without_slash = [](const std::string& path) {
    return (fs::absolute(path) / "").lexically_normal().parent_path();
  };
  const fs::path place = without_slash(output),
                 of_split = without_slash(parts.paths().front()).parent_path();
  const std::vector<std::string> splits = splits_beside(of_split.parent_path().string());
  const bool is_split =
      splits.size() > 1 && std::ranges::find(splits, place.filename().string()) != splits.end();
  const std::string folder = place.parent_path().string();
  if (is_split && !stands(join_path(folder, std::string(kReadmeName))))
    put_readme(folder, work.path(), parts.manifest(), splits);
}

MergeReport merge_into(const MergeRequest& request, const Parts& parts, const Events& events) {
  MergeReport report;
  report.manifest = parts.manifest();
  report.parts = parts.paths().size();
  WorkFolder work(request.output);
  const SetPlace set = SetPlace::of_dataset(request.output);
  const Format& format = format_of(report.manifest);
  bool is_new = false;
  try {
    if (finish_swap(set, work)) {
      report.manifest = read_manifest(request.output);
      refuse_other_content(request.output, report.manifest, parts.manifest());
      report.was_complete = true;
      work.remove();
      return report;
    }
    refuse_strange_output(request.output, look_at(request.output));
    const std::string previous = work.previous_run().head;
    is_new = previous.empty();
    refuse_other_merge(request.output, previous, parts);
    prove_keys(parts, work.path(), events);
    refuse_taken_names(request.output, format, report.manifest.schema);
    if (is_new) {
      work.clear();
      work.begin(parts.description());
    } else {
      keep_whole_files(work);
    }
  } catch (...) {
    if (is_new) work.abandon();
    throw;
  }
  gather(parts, work, events, report);
  for (const std::string_view name : kLists) join_list(parts, name, work, events, report.manifest);
  const ForEachShard for_each_shard = [&](const auto& visit) {
    parts.for_each_shard([&](const std::string&, const ManifestShard&,
                             const ManifestShard& renamed) { visit(renamed); });
  };
  report_duplicates(report.manifest,
                    {.shards = {{work.path(), for_each_shard}},
                     .folder = work.path(),
                     .list_name = std::string(kDuplicatesName),
                     .memory_bytes = kDuplicatesMemory},
                    events);
  write_set_manifest(report.manifest, work, [&](const ShardVisitor& visit) {
    for_each_shard(visit);
    parts.refuse_changes();  // what was read of them until now is what was linked
  });
  put_in_place(set, work);
  put_readme_of_splits(request.output, parts, work);
  work.remove();
  if (std::string note = note_on_readme(request.output, report.manifest); !note.empty())
    events.say(note);
  return report;
}

// All that is decided before the first file is linked.
struct MergePlan {
  PartsReport found;
  std::vector<std::string> paths;         // of the parts
  bool is_standing = false;               // the output holds a dataset
  std::optional<Parts> parts = {};        // where none is removed already
  std::optional<Manifest> complete = {};  // of the output: these parts are merged in it
};

MergePlan plan(const MergeRequest& request, const Events& events) {
  refuse_stream(request.output);
  if (format_of_output(request.output) != nullptr) {
    throw Error(Code::usage, "parts are merged into a directory of shards, not into one file")
        .at(request.output)
        .hint("choose an output without a suffix");
  }
  const Place place = look_at(request.output);
  refuse_strange_output(request.output, place);
  MergePlan plan;
  plan.is_standing = place == Place::dataset && !is_swapping(request.output);
  try {
    plan.found = find_parts(request.parts, events, request.proves);
  } catch (const Error& error) {
    // All are removed already, or not one was ever there.
    if (error.code() != Code::not_found || !request.moves || !plan.is_standing) throw;
  }
  for (const FoundPart& part : plan.found.parts) plan.paths.push_back(part.path);
  refuse_nested({request.output}, plan.paths);
  if (plan.is_standing && request.moves) return plan;
  refuse_unfit(plan.found);
  plan.parts.emplace(plan.found, events);
  if (!plan.is_standing) return plan;
  plan.complete = refuse_incomplete(request.output);
  refuse_other_content(request.output, *plan.complete, plan.parts->manifest());
  return plan;
}

MergeReport run(const MergeRequest& request, MergePlan plan, const Events& events) {
  if (plan.complete) {
    WorkFolder::clear_left(request.output);
    return {
        .manifest = std::move(*plan.complete), .parts = plan.paths.size(), .was_complete = true};
  }
  if (plan.is_standing) return finish_move(request, plan.found, events);
  MergeReport report = merge_into(request, *plan.parts, events);
  if (request.moves) remove_parts(request, plan.paths, events);
  return report;
}

}  // namespace

MergeReport merge(const MergeRequest& request, const Events& events) {
  return run(request, plan(request, events), events);
}

MergeReport plan_merge(const MergeRequest& request, const Events& events) {
  MergePlan planned = plan(request, events);
  MergeReport report{.parts = planned.paths.size(), .was_complete = planned.is_standing};
  if (planned.is_standing) {
    report.manifest =
        planned.complete ? std::move(*planned.complete) : refuse_incomplete(request.output);
    return report;
  }
  report.manifest = planned.parts->manifest();
  WorkFolder::refuse_unwritable(request.output);
  refuse_other_merge(request.output, WorkFolder::run_left_in(request.output).head, *planned.parts);
  if (is_real_folder(request.output))
    refuse_taken_names(request.output, format_of(report.manifest), report.manifest.schema);
  prove_keys(*planned.parts, temporary_folder(), events);
  return report;
}

}  // namespace shale
