#include "shale/datasets/index_set.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/file_fingerprint.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/joined_files.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/datasets/set_index.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/journal.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/untrusted_json.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/work_folder.hpp"

// While a run lasts, FOLDER/.shale/new holds the lists of the files that are done, and `files`, a
// journal: after its head a line for each kind of manifest ("kind TAB members") and each file
// ("file TAB kind TAB shard TAB notes"). Lists come to their names beside those of the index that
// stands, under other numbers; then the manifest is renamed, and the lists that it does not name
// go.

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournalOfSet = "files";

// What is known of a file: its manifest, but for what its shard says, and its shard.
struct KnownFile {
  std::shared_ptr<const Manifest> kind;
  ManifestShard shard;
  std::vector<std::string> notes;
  std::string lists;  // folder
};

// A number that lists have: "00012.index.npy"; nullopt for another name.
std::optional<std::uint64_t> number_of_list(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const std::string_view suffix = name.substr(static_cast<std::size_t>(end - name.data()));
  const bool is_list =
      error == std::errc() && std::ranges::find(kListSuffixes, suffix) != std::end(kListSuffixes);
  return is_list ? std::optional(number) : std::nullopt;
}

std::string stem_of_list(std::uint64_t number) { return fmt::format("{:05}", number); }

// What all files have in common that are found alike.
Manifest kind_of(Manifest manifest) {
  manifest.digest = {};
  manifest.payload_bytes = manifest.shard_count = 0;
  manifest.source = {.kind = std::string(kFileSetKind), .fingerprint = {}};
  return manifest;
}

std::string text_of_kind(const Manifest& kind) {
  std::string text = "{";
  for (const auto& [name, value] : head_members(kind))
    text += fmt::format("{}\"{}\":{}", text.size() > 1 ? "," : "", name, value);
  return text + "}";
}

// As if the file had been indexed alone.
OpenedDataset as_opened(const KnownFile& known, const std::string& file) {
  OpenedDataset opened;
  opened.paths.shards = folder_of_file(file);
  opened.paths.lists = known.lists;
  Manifest& manifest = opened.manifest;
  manifest = *known.kind;
  manifest.digest = known.shard.digest;
  manifest.payload_bytes = known.shard.payload_bytes;
  manifest.shard_count = 1;
  manifest.source = source_of_file(*known.shard.state, known.shard.files[0].bytes, manifest.format,
                                   known.shard.digest.samples, known.shard.payload_bytes);
  ManifestShard shard = known.shard;
  shard.files[0].name = file.substr(file.rfind('/') + 1);
  opened.shards = ShardList(manifest, {std::move(shard)});
  opened.notes = known.notes;
  return opened;
}

bool are_whole(const KnownFile& known) try {
  for (const ManifestFile* list : known.shard.lists()) {
    const InputFile file(join_path(known.lists, list->name));
    if (file.size() != list->bytes) return false;
    prove_file(file, *list);
  }
  return true;
} catch (const Error&) {
  return false;
}

// Makes all that was written durable, with one commit of the file system. Opened before anything is
// written, it learns of all that cannot be.
class FileSystemSync {
 public:
  explicit FileSystemSync(std::string folder)
      : folder_(std::move(folder)),
        descriptor_(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~FileSystemSync() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileSystemSync(const FileSystemSync&) = delete;
  FileSystemSync& operator=(const FileSystemSync&) = delete;
  void sync() const {
    if (descriptor_ >= 0 && ::syncfs(descriptor_) == 0) return;
    throw Error(Code::io, "cannot make the index durable").at(folder_).because_errno(errno);
  }

 private:
  std::string folder_;
  int descriptor_;
};

// What a run before, or the index that stands, knows of files, by their names.
class KnownFiles {
 public:
  void add(KnownFile file) {
    const std::string& name = file.shard.files[0].name;
    by_state_[hex_of(*file.shard.state)] = name;
    files_.insert_or_assign(name, std::move(file));
  }
  [[nodiscard]] bool is_empty() const { return files_.empty(); }
  [[nodiscard]] const KnownFile* find(const std::string& name) const {
    const auto found = files_.find(name);
    return found == files_.end() ? nullptr : &found->second;
  }
  // One of the same content, under whatever name.
  [[nodiscard]] const KnownFile* find(const FileFingerprint& state) const {
    const auto found = by_state_.find(hex_of(state));
    return found == by_state_.end() ? nullptr : find(found->second);
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [name, file] : files_) visit(file);
  }

 private:
  std::unordered_map<std::string, KnownFile> files_;
  std::unordered_map<std::string, std::string> by_state_;
};

class SetIndexing {
 public:
  SetIndexing(const SetIndexRequest& request, const Events& events)
      : request_(request),
        events_(events),
        folder_(folder_of_set_index(request.path, request.index_folder)),
        all_(rooted(request.path, request.files)),
        set_(request.path.empty() ? fmt::format("of {} files", request.files.size()) : request.path,
             {}) {}

  IndexedSet run() {
    refuse_place();
    sorted_names_ = all_.names;
    std::ranges::sort(sorted_names_);
    std::unique_ptr<WorkFolder> work = make_folder();
    work_ = work.get();
    durable_ = std::make_unique<FileSystemSync>(folder_);
    take_standing();
    take_left();
    index_files();
    index_misfits();
    commit();
    work->remove();
    return std::move(done_);
  }

  void refuse_place() const {
    if (folder_.empty()) {
      throw Error(Code::usage, "a set that is not one folder has no place for its index")
          .at(request_.path.empty() ? request_.files.front().name : request_.path)
          .hint(
              "pass --index-dir with a directory for it, and pass it again to whatever reads the "
              "set; or index each file with a command of its own");
    }
    const bool is_own_folder = request_.index_folder.empty();
    const std::string manifest = join_path(folder_, kManifestName);
    const std::optional<struct stat> facts =
        is_own_folder ? facts_at(folder_) : facts_behind(folder_);
    if (facts && !S_ISDIR(facts->st_mode)) throw not_ours(folder_);
    if (stands(manifest) && !is_manifest(manifest)) throw not_ours(manifest);
    if (is_own_folder && facts && !stands(manifest) &&
        work_folder_at(join_path(folder_, kWorkFolder)) != WorkFolderState::ours &&
        !holds_lists_alone())
      throw not_ours(folder_);
    const std::string place = fs::absolute(folder_).lexically_normal().string();
    if (join_path(place, "") == join_path(all_.folder, "")) {
      throw Error(Code::usage, "is the folder of the files, and cannot be that of their index")
          .at(folder_)
          .hint("leave out --index-dir, or pass another directory");
    }
    refuse_inside_dataset(folder_, fs::path(place).parent_path().string());
  }

 private:
  // All in it is named as shale names lists: its manifest may have been lost.
  [[nodiscard]] bool holds_lists_alone() const {
    bool are_lists = true;
    visit_names(folder_, [&](const std::string& name) {
      return are_lists = number_of_list(name) || name == kWorkFolder;
    });
    return are_lists;
  }

  [[nodiscard]] std::unique_ptr<WorkFolder> make_folder() const try {
    return std::make_unique<WorkFolder>(folder_);
  } catch (Error& error) {
    if (error.code() == Code::io)
      error.hint("pass --index-dir with a directory that can be written to");
    throw;
  }

  [[nodiscard]] Parsing parsing() const {
    return request_.parsing.is_given() || !standing_ ? request_.parsing
                                                     : parsing_of(standing_->layout);
  }
  [[nodiscard]] bool with_checksums() const {
    return request_.with_checksums || (standing_ && standing_->layout.has_checksums);
  }

  // The index that stands; one that cannot be read is made again.
  void take_standing() {
    const DatasetPaths paths(folder_);
    if (!stands(paths.manifest)) return;
    ShardList shards;
    try {
      shards = open_shard_list(paths, request_.memory_bytes);
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      return;
    }
    const Manifest& manifest = shards.manifest();
    if (!is_file_set(manifest)) throw not_ours(paths.manifest);
    for (const ManifestShard& shard : shards) {
      for (const ManifestFile* list : shard.lists()) old_lists_.insert(list->name);
    }
    if (request_.parsing.is_given() && !is_parsed_so(manifest.layout, request_.parsing)) return;
    standing_ = std::make_shared<const Manifest>(manifest);
    if (request_.with_checksums && !manifest.layout.has_checksums) return;
    const auto kind = std::make_shared<const Manifest>(kind_of(manifest));
    for (const ManifestShard& shard : shards) known_.add({kind, shard, {}, folder_});
  }

  // What a run did that was interrupted: its lists are in its folder, or have come to their names.
  void take_left() {
    const std::string path = join_path(work_->path(), kJournalOfSet);
    const std::string head =
        fmt::format("{}\t{}\t{}", request_.generator, with_checksums(), words_of(parsing()));
    std::uint64_t first = 0;
    try {
      const JournalSummary left = read_journal(path);
      if (left.head.starts_with(head + "\t")) {
        first = std::stoull(left.head.substr(head.size() + 1));
        take_back_lists(first);
        for (const std::string& line : left.tail) take_line(line);
        first_number_ = first;
        (void)remove_file(path);
        (void)remove_file(Journal::tail_path(path));
      }
    } catch (const std::exception&) {
      left_.clear();
    }
    if (left_.empty()) {
      work_->clear();
      visit_names(folder_, [&](const std::string& name) {
        if (const auto number = number_of_list(name))
          first_number_ = std::max(first_number_, *number + 1);
        return true;
      });
    }
    kinds_.clear();
    journal_ = Journal::create(path, fmt::format("{}\t{}", head, first_number_));
    for (const KnownFile& file : std::exchange(left_, {})) {
      keep_line(file);
      known_.add(file);
    }
  }

  void take_line(std::string_view line) {
    constexpr std::string_view kKind = "kind\t", kFile = "file\t";
    if (line.starts_with(kKind)) {
      constexpr std::uint64_t kMostBytes = 32 << 20;
      kinds_left_.push_back(std::make_shared<const Manifest>(
          parse_manifest_head(line.substr(kKind.size()), kMostBytes)));
    } else if (line.starts_with(kFile)) {
      line.remove_prefix(kFile.size());
      const std::size_t shard = line.find('\t') + 1, notes = line.find('\t', shard) + 1;
      KnownFile file;
      file.lists = work_->path();
      file.kind = kinds_left_.at(std::stoull(std::string(line.substr(0, shard - 1))));
      file.shard = parse_shard_line(line.substr(shard, notes - 1 - shard));
      for (const Json& note : Json::parse(line.substr(notes)))
        file.notes.push_back(note.get<std::string>());
      if (!file.shard.state) return;
      const bool stands = std::ranges::any_of(file.shard.lists(), [&](const ManifestFile* list) {
        return old_lists_.contains(list->name);
      });
      if (!stands) left_.push_back(std::move(file));
    }
  }

  // Those of a run that was interrupted which had come to their names already: only the manifest
  // says that they are durable.
  void take_back_lists(std::uint64_t first) const {
    for (const std::string& name : names_of_lists()) {
      if (*number_of_list(name) >= first && !old_lists_.contains(name))
        rename_file(join_path(folder_, name), join_path(work_->path(), name));
    }
  }

  // Not those of a single file that happens to have a number for its name.
  [[nodiscard]] std::vector<std::string> names_of_lists() const {
    std::vector<std::string> names;
    visit_names(folder_, [&](const std::string& name) {
      const std::string stem = join_path(folder_, name.substr(0, name.find('.') + 1));
      if (number_of_list(name) && !stands(stem + std::string(kManifestName))) names.push_back(name);
      return true;
    });
    return names;
  }

  void keep_line(const KnownFile& file) {
    const std::string text = text_of_kind(*file.kind);
    const auto [kind, is_new] = kinds_.try_emplace(text, kinds_.size());
    if (is_new) journal_.add_to_tail("kind\t" + text);
    journal_.add_to_tail(fmt::format("file\t{}\t{}\t{}", kind->second, shard_line(file.shard),
                                     Json(file.notes).dump()));
  }

  [[nodiscard]] ForeignRequest indexing_of(const SetMember& member, unsigned jobs) const {
    return {.file = member.path,
            .index_folder = {},
            .parsing = parsing(),
            .with_checksums = with_checksums(),
            .generator = request_.generator,
            .memory_bytes = request_.memory_bytes / jobs};
  }

  struct Found {
    KnownFile file;
    bool is_new = false;
  };

  [[nodiscard]] KnownFile make(const ForeignRequest& indexing, std::size_t place,
                               const Events& events) const {
    IndexPart part =
        index_into(indexing, work_->path(), stem_of_list(first_number_ + place), events);
    KnownFile made{nullptr, std::move(part.shard), std::move(part.notes), work_->path()};
    made.shard.state = part.manifest.source.file;
    made.shard.name = printable(request_.files[place].name);
    made.shard.files[0].name = all_.names[place];
    made.kind = std::make_shared<const Manifest>(kind_of(std::move(part.manifest)));
    return made;
  }

  // What is known of a file of this content that has gone from the set: it has another name now.
  [[nodiscard]] const KnownFile* renamed(const FileFingerprint& state) const {
    const KnownFile* known = known_.find(state);
    const bool is_gone = known != nullptr && !is_in_set(known->shard.files[0].name);
    return is_gone ? known : nullptr;
  }
  [[nodiscard]] bool is_in_set(const std::string& name) const {
    return std::ranges::binary_search(sorted_names_, name);
  }

  // In any thread.
  [[nodiscard]] Found look_at_file(std::size_t place, unsigned jobs, const Events& events) const
      try {
    const SetMember& member = request_.files[place];
    if (!known_.is_empty()) {
      const InputFile file(member.path);
      const FileFingerprint state = fingerprint_of(file, [&] { events.stop_if_asked(); });
      const KnownFile* known = known_.find(all_.names[place]);
      if (known == nullptr || known->shard.state != state) known = renamed(state);
      if (known != nullptr && known->shard.state == state &&
          known->shard.files[0].bytes == file.size() && are_whole(*known)) {
        Found found{*known, false};
        found.file.shard.name = printable(member.name);
        found.file.shard.files[0].name = all_.names[place];
        return found;
      }
    }
    return {make(indexing_of(member, jobs), place, events), true};
  } catch (Error& error) {
    if (error.file().empty()) error.at(request_.files[place].path);
    throw;
  }

  // Files whose reading needs a process of its own are read one after the other. Where little is
  // read of each, they wait for the disk, which answers many at once.
  [[nodiscard]] unsigned most_workers() const {
    const Format* format = detect_file(InputFile(request_.files.front().path));
    if (format != nullptr && format->can.forks) return 0;
    const auto at_once = static_cast<unsigned>(
        std::min<std::uint64_t>(request_.memory_bytes >> 24, 16 * request_.jobs));
    return with_checksums() ? request_.jobs : std::max(request_.jobs, at_once);
  }

  void index_files() {
    const unsigned workers = most_workers();
    Events quiet;
    quiet.should_stop = [this, workers] {
      return is_stopping_ || (workers == 0 && events_.should_stop && events_.should_stop());
    };
    OrderedPipeline<Found> pipeline(workers);
    const std::shared_ptr<void> at_end(nullptr, [this](void*) { is_stopping_ = true; });
    const std::size_t count = request_.files.size(), ahead = 4 * std::max(1U, workers);
    for (std::size_t place = 0, submitted = 0; place < count; ++place) {
      for (; submitted < std::min(count, place + ahead); ++submitted) {
        pipeline.submit([this, submitted, workers, &quiet](unsigned) {
          return look_at_file(submitted, std::max(1U, workers), quiet);
        });
      }
      do events_.stop_if_asked();
      while (!pipeline.has_result(std::chrono::milliseconds(100)));
      take(place, pipeline.take());
      events_.report(place + 1, count, done_.manifest.payload_bytes);
    }
  }

  void take(std::size_t place, const Found& found) {
    const SetMember& member = request_.files[place];
    if (found.is_new) keep_line(found.file);
    found.is_new ? ++done_.indexed : ++done_.kept;
    OpenedDataset opened = as_opened(found.file, member.path);
    // What the files that stay had left out is counted once.
    if (found.file.kind->left_out.count() > 0 && found.file.lists == folder_ &&
        std::exchange(has_left_out_, true))
      opened.manifest.left_out = {};
    if (!JoinedFiles::has_fitting_rows(opened)) {
      throw Error(Code::unsupported, "its samples are not stored as rows of one size")
          .at(member.path)
          .hint("'shale convert' reads the set");
    }
    if (!set_.add(member, opened)) return;
    places_.push_back(place);
    states_.push_back(*found.file.shard.state);
  }

  // Files whose columns are not those of all.
  void index_misfits() {
    if (places_.empty()) throw set_.no_samples(request_.files.size());
    const IndexedAs as = set_.indexed_as();
    for (const std::size_t number : set_.misfits()) {
      events_.stop_if_asked();
      const std::size_t place = places_[number];
      const SetMember& member = request_.files[place];
      if (const std::vector<std::string> arrays = set_.arrays_of(number); !arrays.empty()) {
        throw Error(
            Code::unsupported,
            "has one value of '{}' in each sample, and other files of the set have several: "
            "such values cannot be located in place",
            printable(arrays.front()))
            .at(member.path)
            .hint("'shale convert' reads the set");
      }
      ForeignRequest indexing = indexing_of(member, 1);
      ask_for(indexing, as);
      const KnownFile made = make(indexing, place, events_);
      keep_line(made);
      set_.replace(number, member, as_opened(made, member.path));
      states_[number] = *made.shard.state;
    }
  }

  void commit() {
    OpenedDataset set = std::move(set_).finish();
    done_.index = join_path(folder_, kManifestName);
    done_.notes = std::move(set.notes);
    if (std::string note = note_on_missing_files(request_.files); !note.empty())
      done_.notes.insert(done_.notes.begin(), std::move(note));
    done_.manifest = std::move(set.manifest);
    done_.manifest.generator = request_.generator;
    done_.manifest.source.kind = kFileSetKind;
    std::vector<ManifestShard> shards;
    for (std::uint64_t number = 0; number < set.shards.size(); ++number)
      shards.push_back(line_of(set.shards[number], number));
    events_.stop_if_asked();
    std::vector<std::string> names;
    for (const ManifestShard& shard : shards) {
      for (const ManifestFile* list : shard.lists()) {
        names.push_back(list->name);
        const std::string from = join_path(work_->path(), list->name),
                          to = join_path(folder_, list->name);
        if (stands(from) && !rename_to_free_name(from, to)) throw not_ours(to);
      }
    }
    durable_->sync();
    std::ranges::sort(names);
    (void)remove_file(join_path(work_->path(), "dataset.json.tmp"));
    write_manifest(work_->path(), done_.manifest, [&](const auto& visit) {
      for (const ManifestShard& shard : shards) visit(shard);
    });
    rename_file(join_path(work_->path(), kManifestName), done_.index);
    sync_directory(folder_);
    for (const std::string& list : names_of_lists()) {
      if (!std::ranges::binary_search(names, list)) (void)remove_file(join_path(folder_, list));
    }
    known_.for_each([&](const KnownFile& file) {
      if (!is_in_set(file.shard.files[0].name)) ++done_.gone;
    });
  }

  // With the path in the folder of the set, and lists in the folder of the index.
  [[nodiscard]] ManifestShard line_of(ManifestShard shard, std::uint64_t number) const {
    shard.files[0].name = all_.names[places_[number]];
    shard.state = states_[number];
    if (!done_.manifest.layout.has_elements) shard.elements = {};
    for (ManifestFile* list : {&shard.index, &shard.elements, &shard.values, &shard.blocks})
      list->name.erase(0, list->name.rfind('/') + 1);
    return shard;
  }

  const SetIndexRequest& request_;
  const Events& events_;
  std::string folder_;
  RootedFiles all_;
  std::vector<std::string> sorted_names_;
  JoinedFiles set_;
  std::unique_ptr<FileSystemSync> durable_;
  WorkFolder* work_ = nullptr;
  std::shared_ptr<const Manifest> standing_;
  std::unordered_set<std::string> old_lists_;  // of the index that stands
  KnownFiles known_;
  std::vector<KnownFile> left_;
  std::vector<std::shared_ptr<const Manifest>> kinds_left_;
  Journal journal_;
  std::map<std::string, std::size_t> kinds_;
  std::uint64_t first_number_ = 0;  // of the lists that this run makes
  bool has_left_out_ = false;
  std::atomic<bool> is_stopping_ = false;
  std::vector<std::size_t> places_;  // of the files that have samples
  std::vector<FileFingerprint> states_;
  IndexedSet done_;
};

}  // namespace

void refuse_place_of_index(const SetIndexRequest& request) {
  SetIndexing(request, {}).refuse_place();
}

IndexedSet index_set(const SetIndexRequest& request, const Events& events) {
  return SetIndexing(request, events).run();
}

OpenedDataset open_and_index_set(const DatasetRequest& request, const Events& events) {
  const bool may_be_made = !request.index_folder.empty() && !request.open_instead;
  if (!may_be_made || is_manifest(DatasetPaths(request.index_folder).manifest)) try {
      return open_dataset(request, events);
    } catch (const Error& error) {
      const bool is_other = error.code() == Code::damaged || error.code() == Code::mismatch;
      if (!may_be_made || !is_other || has_vanished(error.file())) throw;
    }
  const SetIndexRequest indexing{.path = request.path,
                                 .files = files_of_set(request.path).value(),
                                 .index_folder = request.index_folder,
                                 .parsing = request.parsing,
                                 .with_checksums = request.with_checksums,
                                 .generator = request.generator,
                                 .memory_bytes = request.memory_bytes};
  while (true) try {
      (void)index_set(indexing, events);
      return open_dataset(request, events);
    } catch (const Error& error) {
      const bool is_busy =
          error.code() == Code::exists &&
          work_folder_at(join_path(request.index_folder, kWorkFolder)) == WorkFolderState::ours;
      if (!is_busy) throw;
      events.stop_if_asked();
    }
}

}  // namespace shale
