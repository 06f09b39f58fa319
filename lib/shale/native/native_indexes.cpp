#include "shale/native/native_indexes.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shale/base/natural_order.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/native/native_journal.hpp"
#include "shale/native/placed_file.hpp"
#include "shale/native/shard_lists.hpp"
#include "shale/native/tar_walk.hpp"

namespace shale {
namespace {

constexpr std::string_view kTarSuffix = ".tar";
// Tars that a thread walks at once, each with a read in flight.
constexpr std::size_t kTarsAtOnce = 16;

FileStamp stamp_of_file(const std::string& path) { return stamp_of(path).value_or(FileStamp()); }

// What both files are now; `index` empty: there is none.
void put_stamps(NativeJournal::Row& row, const FileStamp& tar, const std::string& index) {
  const FileStamp stamp = index.empty() ? FileStamp() : stamp_of_file(index);
  row.tar_bytes = tar.bytes;
  row.tar_modified_ns = tar.modified_ns;
  row.bytes = stamp.bytes;
  row.modified_ns = stamp.modified_ns;
}

// Where an index of a tar is; empty: it has none of its own.
std::string index_of_tar(NativeKind kind, const std::string& tar) {
  switch (kind) {
    case NativeKind::wids:
      return "";
    case NativeKind::dali:
      return tar.substr(0, tar.find('.', tar.rfind('/') + 1)) + ".idx";
    case NativeKind::energon:
      return tar + ".idx";
  }
  return "";
}

// A tar, and what is still to be made of it.
struct Job {
  struct Wanted {
    NativeKind kind = NativeKind::wids;
    std::string path;      // of the index; empty: it has none of its own
    bool is_ours = false;  // what is there now
  };
  std::string name, path;
  FileStamp stamp = {};
  std::vector<Wanted> wanted = {};
};

// What was made.
struct Made {
  NativeKind kind = NativeKind::wids;
  bool is_kept = false;
  NativeJournal::Row row = {};
};

struct DoneTar {
  std::string name;
  std::uint64_t bytes = 0;
  std::vector<Made> made = {};
  bool has_end_mark = true;
};

// Adds a file to those that are to be placed; null: none are. True: it was there with this content.
// Errors: Code::exists.
bool add_file(PlacedFiles* files, const std::string& path, std::string_view head, ScratchFile* rest,
              bool is_ours) {
  refuse_link_to_nothing(path);
  if (stands(path)) {
    if (has_content(path, head, rest)) return true;
    if (!is_ours) {
      throw Error(Code::exists,
                  "has other content than the index that belongs here, and shale did "
                  "not write it")
          .at(path)
          .hint("move it away, and run the same command again");
    }
  }
  if (files != nullptr) files->add(path, head, rest);
  return false;
}

// One tar that is walked.
struct Indexed {
  InputFile file;
  std::optional<DaliLines> dali;
  std::optional<EnergonOffsets> energon;
  std::optional<WidsSamples> wids;

  Indexed(const Job& job, const std::string& folder) : file(job.path) {
    for (const Job::Wanted& wanted : job.wanted) {
      if (wanted.kind == NativeKind::dali) dali.emplace(folder);
      if (wanted.kind == NativeKind::energon) energon.emplace(folder);
      if (wanted.kind == NativeKind::wids) wids.emplace();
    }
  }

  WalkedTar walk() {
    WalkedTar tar{.file = &file,
                  .take = [this](const TarMember& member, Bytes header) { take(member, header); }};
    if (wids) tar.take_bytes = [this](Bytes bytes) { wids->take_bytes(bytes); };
    return tar;
  }

  void take(const TarMember& member, Bytes header) try {
    if (member.type != TarMember::Type::file) return;
    if (dali) dali->take(member);
    if (energon) energon->take(member);
    if (wids) wids->take(member, header);
  } catch (Error& error) {
    if (error.file().empty()) error.at(file.path(), member.header);
    throw;
  }

  [[nodiscard]] std::uint64_t samples_of(NativeKind kind) const {
    const std::uint64_t samples = kind == NativeKind::dali      ? dali->samples()
                                  : kind == NativeKind::energon ? energon->samples()
                                                                : wids->samples();
    if (samples > 0) return samples;
    throw Error(Code::unsupported, "holds no sample for {}: no file in it has a name with a dot",
                name_of(kind))
        .at(file.path())
        .hint("leave this tar out");
  }
};

// One folder of tars.
class FolderOfTars {
 public:
  FolderOfTars(const SetOfTars& set, const NativeIndexRequest& request, const Events& events)
      : set_(set),
        folder_(set.folder),
        names_(set.names),
        request_(request),
        events_(events),
        journal_(folder_) {
    for (const NativeKind kind : request.kinds) counts_[kind] = {};
  }

  void run(NativeIndexReport& report) {
    refuse_names();
    refuse_places();
    find_jobs();
    try {
      run_jobs();
      for (const NativeKind kind : request_.kinds) place_lists(kind);
    } catch (...) {
      save();
      throw;
    }
    save();
    for (const NativeKind kind : request_.kinds) {
      const bool is_list = kind == NativeKind::wids;
      report.indexes.push_back({.kind = kind,
                                .path = is_list ? join_path(folder_, kWidsName) : folder_,
                                .written = counts_[kind].written,
                                .kept = counts_[kind].kept});
    }
    report.tars += names_.size();
    for (const ShardCount& shard : counts_[request_.kinds.front()].shards)
      report.samples += shard.samples;
    add_notes(report.notes);
  }

 private:
  struct Counts {
    std::uint64_t written = 0, kept = 0;
    std::vector<ShardCount> shards;
  };

  void add_notes(std::vector<std::string>& notes) const {
    const auto is_below = [](const std::string& name) { return name.find('/') != name.npos; };
    if (const auto below = std::ranges::count_if(names_, is_below); below > 0) {
      notes.push_back(fmt::format(
          "{}: {} in folders below it, and part of this dataset: {}{}", printable(folder_),
          format_counted(static_cast<std::uint64_t>(below), "tar lies", "tars lie"),
          printable(*std::ranges::find_if(names_, is_below)), below > 1 ? " ..." : ""));
    }
    if (set_.passed_over_count > 0) {
      notes.push_back(fmt::format(
          "{}: {} not indexed, as these indexes are for plain tars: {}{}", printable(folder_),
          format_counted(set_.passed_over_count, "compressed tar is", "compressed tars are"),
          printable(set_.passed_over), set_.passed_over_count > 1 ? " ..." : ""));
    }
    if (without_mark_ > 0) {
      notes.push_back(fmt::format("{} without the mark of its end: it may be truncated ({})",
                                  format_counted(without_mark_, "tar ends", "tars end"),
                                  printable(first_without_mark_)));
    }
  }

  [[nodiscard]] bool is_wanted(NativeKind kind) const {
    return std::ranges::count(request_.kinds, kind) > 0;
  }

  void save() {
    if (!request_.is_only_planned) journal_.save();
  }

  void refuse_names() const {
    std::set<std::string> indexes, names, base_names;
    for (const std::string& name : names_) {
      const std::string path = join_path(folder_, name);
      if (!name.ends_with(kTarSuffix)) {
        throw Error(Code::unsupported, "is not called X.tar, and indexes are for plain tars only")
            .at(path)
            .hint("readers of these indexes take no compressed tars: unpack it, or rename it");
      }
      if (!names.insert(name).second) throw Error(Code::usage, "is named twice").at(path);
      for (const NativeKind kind : request_.kinds) refuse_shard_name(kind, name, path);
      if (is_wanted(NativeKind::wids) &&
          !base_names.insert(name.substr(name.rfind('/') + 1)).second) {
        throw Error(Code::unsupported,
                    "has the name of a tar in another folder: wids keeps both under one name in "
                    "its cache, and reads the first for the second")
            .at(path)
            .hint("name each of the folders on its own, or leave wids out");
      }
      if (is_wanted(NativeKind::dali) &&
          !indexes.insert(index_of_tar(NativeKind::dali, name)).second) {
        throw Error(Code::unsupported,
                    "has the same index of DALI as another tar, whose name is the same up to the "
                    "first dot")
            .at(path)
            .hint("rename one of them, or leave dali out");
      }
    }
  }

  // Before the tars are read, which may take hours.
  void refuse_places() const {
    if (is_wanted(NativeKind::wids)) refuse_link_to_nothing(join_path(folder_, kWidsName));
    if (!is_wanted(NativeKind::energon)) return;
    const std::string place = join_path(folder_, kEnergonFolder);
    refuse_link_to_nothing(place);
    if (!stands(place) || S_ISDIR(facts_behind(place)->st_mode)) return;
    throw Error(Code::exists, "is not a folder, and Energon looks for its files in it")
        .at(place)
        .hint("move it away, and run the same command again");
  }

  // What is not known from an earlier run.
  void find_jobs() {
    for (const std::string& name : names_) {
      Job job{.name = name, .path = join_path(folder_, name)};
      job.stamp = stamp_of_file(job.path);
      for (const NativeKind kind : request_.kinds) {
        const NativeJournal::Row* row = journal_.find(name_of(kind), name);
        std::string index = index_of_tar(kind, job.path);
        const bool is_ours = row != nullptr && (index.empty() || row->wrote(stamp_of_file(index)));
        const bool is_known = is_ours && row->is_of(job.stamp);
        if (is_known && !index.empty()) ++counts_[kind].kept;
        if (!is_known) job.wanted.push_back({kind, std::move(index), is_ours});
      }
      if (!job.wanted.empty()) jobs_.push_back(std::move(job));
    }
  }

  // Few enough that a kill costs little, where all bytes are read.
  std::vector<Job> next_batch(std::size_t most) {
    constexpr std::uint64_t kBytesAtOnce = 256 << 20;
    const bool is_whole = is_wanted(NativeKind::wids);
    std::vector<Job> batch;
    for (std::uint64_t bytes = 0; batch.size() < most && !jobs_.empty(); jobs_.pop_front()) {
      bytes += jobs_.front().stamp.bytes;
      if (is_whole && !batch.empty() && bytes > kBytesAtOnce) break;
      batch.push_back(std::move(jobs_.front()));
    }
    return batch;
  }

  void run_jobs() {
    const std::size_t all = jobs_.size(), jobs = std::max(1U, request_.jobs);
    const std::size_t at_once = std::clamp<std::size_t>((all + jobs - 1) / jobs, 1, kTarsAtOnce);
    OrderedPipeline<std::vector<DoneTar>> pipeline(request_.jobs);
    std::size_t done = 0;
    std::uint64_t bytes = 0;
    try {
      while (!jobs_.empty() || pipeline.pending() > 0) {
        while (!jobs_.empty() && pipeline.pending() < 2 * jobs) {
          pipeline.submit(
              [this, batch = next_batch(at_once)](unsigned) { return index_tars(batch); });
        }
        while (!pipeline.has_result(std::chrono::milliseconds(100))) events_.stop_if_asked();
        events_.stop_if_asked();
        for (DoneTar& tar : pipeline.take()) {
          bytes += tar.bytes;
          ++done;
          take(std::move(tar));
        }
        events_.report(done, all, bytes);
        if (!request_.is_only_planned) journal_.save_now_and_then();
      }
    } catch (...) {
      is_stopped_ = true;  // before the pipeline waits for its tasks
      throw;
    }
  }

  // In a thread.
  std::vector<DoneTar> index_tars(const std::vector<Job>& jobs) const {
    std::deque<Indexed> indexed;
    std::vector<WalkedTar> walked;
    for (const Job& job : jobs) {
      indexed.emplace_back(job, folder_);
      walked.push_back(indexed.back().walk());
    }
    walk_tars(walked, is_stopped_);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      for (const Job::Wanted& wanted : jobs[i].wanted) (void)indexed[i].samples_of(wanted.kind);
    }
    PlacedFiles files;
    std::vector<DoneTar> done;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      DoneTar tar{.name = jobs[i].name,
                  .bytes = jobs[i].stamp.bytes,
                  .has_end_mark = walked[i].has_end_mark};
      for (const Job::Wanted& wanted : jobs[i].wanted)
        tar.made.push_back(make(wanted, indexed[i], walked[i].end, files));
      done.push_back(std::move(tar));
    }
    files.place();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      for (std::size_t k = 0; k < done[i].made.size(); ++k)
        put_stamps(done[i].made[k].row, jobs[i].stamp, jobs[i].wanted[k].path);
    }
    return done;
  }

  Made make(const Job::Wanted& wanted, Indexed& indexed, std::uint64_t end,
            PlacedFiles& files) const {
    Made made{.kind = wanted.kind};
    PlacedFiles* const placed = request_.is_only_planned ? nullptr : &files;
    if (wanted.kind == NativeKind::dali) {
      made.is_kept = add_file(placed, wanted.path, indexed.dali->head(), &indexed.dali->finish(),
                              wanted.is_ours);
    } else if (wanted.kind == NativeKind::energon) {
      made.is_kept =
          add_file(placed, wanted.path, "", &indexed.energon->finish(end), wanted.is_ours);
    }
    made.row.samples = indexed.samples_of(wanted.kind);
    if (wanted.kind == NativeKind::wids) made.row.md5 = indexed.wids->md5();
    return made;
  }

  void take(DoneTar tar) {
    for (Made& made : tar.made) {
      if (made.kind != NativeKind::wids)
        ++(made.is_kept ? counts_[made.kind].kept : counts_[made.kind].written);
      journal_.set(name_of(made.kind), tar.name, std::move(made.row));
    }
    if (!tar.has_end_mark && without_mark_++ == 0) first_without_mark_ = tar.name;
  }

  void place_lists(NativeKind kind) {
    std::vector<ShardCount>& shards = counts_[kind].shards;
    for (const std::string& name : names_) {
      const NativeJournal::Row& row = *journal_.find(name_of(kind), name);
      shards.push_back({name, row.samples, row.tar_bytes, row.md5});
    }
    for (const ListOfShards& list : lists_of(kind, shards)) place_list(kind, list);
  }

  void place_list(NativeKind kind, const ListOfShards& list) {
    const std::string path = join_path(folder_, list.name);
    if (list.is_for_users && stands(path)) return;
    if (list.name.starts_with(kEnergonFolder) && !request_.is_only_planned)
      (void)make_directory(join_path(folder_, kEnergonFolder));
    const NativeJournal::Row* row = journal_.find("file", list.name);
    const bool is_ours = row != nullptr && row->wrote(stamp_of_file(path));
    PlacedFiles file;
    const bool is_kept =
        add_file(request_.is_only_planned ? nullptr : &file, path, list.content, nullptr, is_ours);
    file.place();
    ++(is_kept ? counts_[kind].kept : counts_[kind].written);
    if (request_.is_only_planned) return;
    NativeJournal::Row now;
    put_stamps(now, {}, path);
    journal_.set("file", list.name, std::move(now));
  }

  const SetOfTars& set_;
  const std::string& folder_;
  const std::vector<std::string>& names_;
  const NativeIndexRequest& request_;
  const Events& events_;
  NativeJournal journal_;
  std::deque<Job> jobs_;
  std::uint64_t without_mark_ = 0;
  std::string first_without_mark_;
  std::map<NativeKind, Counts> counts_;
  std::atomic<bool> is_stopped_ = false;
};

// With those in the folders below it.
void add_folder(const std::string& folder, SetOfTars& set) {
  constexpr std::string_view kCompressed[] = {".tgz", ".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2"};
  const std::size_t begin = set.names.size();
  const WalkOptions names_alone{.wants_size = [](std::string_view) { return false; }};
  (void)walk_folder(folder, names_alone, [&](const WalkedFile& file) {
    std::string name = join_path(file.directory, file.name);
    if (name.ends_with(kTarSuffix)) return set.names.push_back(std::move(name));
    const auto ends_it = [&](std::string_view suffix) { return name.ends_with(suffix); };
    if (!std::ranges::any_of(kCompressed, ends_it)) return;
    if (set.passed_over_count++ == 0 || is_naturally_less(name, set.passed_over))
      set.passed_over = std::move(name);
  });
  if (set.names.size() == begin) {
    throw Error(Code::not_found, "holds no file that is called X.tar, and neither do folders in it")
        .at(folder)
        .hint(set.passed_over_count == 0
                  ? "name the folder that holds the tars"
                  : "readers of these indexes take no compressed tars: unpack them");
  }
  std::sort(set.names.begin() + static_cast<std::ptrdiff_t>(begin), set.names.end(),
            is_naturally_less);
}

}  // namespace

std::vector<NativeKind> parse_native_kinds(const std::string& text) {
  constexpr NativeKind kKinds[] = {NativeKind::wids, NativeKind::dali, NativeKind::energon};
  std::vector<NativeKind> kinds;
  std::string_view left = text;
  do {
    const std::string_view word = left.substr(0, left.find(','));
    left.remove_prefix(std::min(word.size() + 1, left.size()));
    const auto kind =
        std::ranges::find_if(kKinds, [&](NativeKind each) { return name_of(each) == word; });
    if (kind == std::end(kKinds)) {
      throw Error(Code::usage, "--native: '{}' is not one of wids, dali and energon",
                  printable(word))
          .hint("name one or more of them: --native wids,dali");
    }
    if (std::ranges::count(kinds, *kind) == 0) kinds.push_back(*kind);
  } while (!left.empty());
  return kinds;
}

std::vector<SetOfTars> tars_of_words(const std::vector<std::string>& words) {
  std::vector<SetOfTars> sets;
  const auto set_of = [&](const std::string& folder) -> SetOfTars& {
    const auto set = std::ranges::find(sets, folder, &SetOfTars::folder);
    return set != sets.end() ? *set : sets.emplace_back(SetOfTars{.folder = folder, .names = {}});
  };
  const auto add = [&](const std::string& tar) {
    set_of(folder_of_file(tar)).names.push_back(tar.substr(tar.rfind('/') + 1));
  };
  for (const std::string& word : words) {
    const std::optional<struct stat> facts = facts_behind(word);
    if (facts && S_ISREG(facts->st_mode)) {
      add(word);
    } else if (facts && S_ISDIR(facts->st_mode)) {
      const std::string folder =
          word.substr(0, std::max<std::size_t>(1, word.find_last_not_of('/') + 1));
      add_folder(folder, set_of(folder));
    } else {
      const auto listed = files_of_any_kind(word);
      if (!listed) throw Error(Code::not_found, "is neither a tar nor a folder of tars").at(word);
      for (const SetMember& member : *listed) add(member.path);
    }
  }
  return sets;
}

NativeIndexReport write_native_indexes(const NativeIndexRequest& request, const Events& events) {
  NativeIndexReport report;
  for (const SetOfTars& set : request.sets) FolderOfTars(set, request, events).run(report);
  return report;
}

}  // namespace shale
