#include "shale/shards/work_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_syncs.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/io/walk.hpp"
#include "shale/io/write_fully.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"

// The folder holds: `lock` (the marker, flock), `journal` (line 1: the command's description; then
// per line the state of the run, TAB, the shard), `journal.tail` (lines of shards that are not
// durable yet), `listing` (of a folder that is read), `new/` (the
// files of the output), and while an old set makes room for a new one `old.json` (set_swap.cpp).

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMarker = "shale works here: this folder goes when its run ends\n";
constexpr std::string_view kInnerName = "side";
constexpr std::string_view kLockName = "lock", kJournalName = "journal", kListingName = "listing",
                           kNewListingName = "listing.new";
constexpr std::chrono::milliseconds kBetweenTries(20);
// A file system without stable inode numbers must not keep us here for ever.
constexpr int kMostTries = 100, kLooks = 10;
// Half a second: a process that was killed holds its lock until its last write is done.
constexpr int kTriesOfBusy = 25;

// What FUSE and NFS make of an open file that is deleted: on its way out.
bool is_deleted(std::string_view name) {
  return name.starts_with(".fuse_hidden") || name.starts_with(".nfs");
}

// Collected before anything is removed: a folder must not change while it is listed. `is_whole`:
// it could be listed to its end.
struct NamesInFolder {
  std::vector<std::string> names;
  bool is_whole = false;
};

NamesInFolder list_names(const std::string& folder) noexcept {
  NamesInFolder found;
  try {
    visit_names(folder, [&](const std::string& name) {
      found.names.push_back(name);
      return true;
    });
    found.is_whole = true;
  } catch (...) {
    return found;
  }
  return found;
}

// A list that a run goes on with.
bool is_kept_list(std::string_view name) {
  return is_list_name(name, kSkippedName) || is_list_name(name, kImagesName);
}

std::vector<std::string> names_in(const std::string& folder) { return list_names(folder).names; }

enum class Mark { none, unwritten, ours, foreign };

// A fault of the storage does not make a folder somebody else's.
[[noreturn]] void throw_unreadable(const std::string& path, int error_number) {
  throw Error(Code::io, "cannot be read").at(path).because_errno(error_number);
}

Mark mark_of(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_nlink > 1)
    return Mark::foreign;
  if (facts.st_size == 0) return Mark::unwritten;
  std::array<char, kMarker.size() + 1> text{};
  const ssize_t got =
      retried(descriptor, [&] { return ::pread(descriptor, text.data(), text.size(), 0); });
  // A full disk or a kill may have stopped it halfway.
  const bool is_part =
      got > 0 && kMarker.starts_with(std::string_view(text.data(), static_cast<std::size_t>(got)));
  return !is_part ? Mark::foreign : got == kMarker.size() ? Mark::ours : Mark::unwritten;
}

Mark mark_at(const std::string& lock_path) {
  const int descriptor = retried(lock_path, [&] {
    return ::open(lock_path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  });
  if (descriptor < 0 && errno == ENOENT) return Mark::none;
  if (descriptor < 0 && is_hiccup(errno)) throw_unreadable(lock_path, errno);
  if (descriptor < 0) return Mark::foreign;
  const Mark mark = mark_of(descriptor);
  ::close(descriptor);
  return mark;
}

WorkFolderState look_once(const std::string& path) {
  const std::optional<struct stat> facts = facts_at(path);
  if (!facts) return WorkFolderState::absent;
  if (!S_ISDIR(facts->st_mode)) return WorkFolderState::foreign;
  const Mark mark = mark_at(join_path(path, kLockName));
  if (mark == Mark::ours) return WorkFolderState::ours;
  bool is_blank = true;
  try {
    visit_names(path, [&](const std::string& name) {
      return is_blank = is_deleted(name) || (name == kLockName && mark == Mark::unwritten);
    });
  } catch (const Error&) {
    return WorkFolderState::foreign;
  }
  return is_blank ? WorkFolderState::blank : WorkFolderState::foreign;
}

// What a kill may leave of a work folder.
bool is_left(const std::string& path) {
  const WorkFolderState state = look_once(path);
  return state == WorkFolderState::ours || state == WorkFolderState::blank;
}

// The folders that are missing of a path, the lowest first. Errors: Code::exists for a link to what
// is missing: no folder can have its name.
std::vector<std::string> missing_directories(const std::string& path) {
  std::vector<std::string> missing;
  for (fs::path at(path); !at.empty() && !facts_behind(at.string()); at = at.parent_path()) {
    if (stands(at.string())) {
      throw Error(Code::exists, "is a link that leads nowhere")
          .at(at.string())
          .hint("remove the link, or choose another output");
    }
    missing.push_back(at.string());
  }
  return missing;
}

// 0: names can be made in this folder.
int fault_of_writing(const std::string& folder) {
  const std::string inside = join_path(folder.empty() ? "." : folder, ".");
  const auto ask = [&] { return ::faccessat(AT_FDCWD, inside.c_str(), W_OK | X_OK, AT_EACCESS); };
  return retried(inside, ask) == 0 ? 0 : errno;
}

void refuse_names_in(const std::string& folder, const std::string& target) {
  const int fault = fault_of_writing(folder);
  if (fault == ENOENT) throw no_folder_for(target, folder);
  if (fault != 0) throw Error(Code::io, "cannot be written").at(target).because_errno(fault);
}

// With the folders above it that are missing, durably. Returns those that it made.
std::vector<std::string> make_directories(const std::string& path) {
  const std::vector<std::string> missing = missing_directories(path);
  std::vector<std::string> made;
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
    if (!make_directory(*at)) continue;
    made.push_back(*at);
    const std::string parent = fs::path(*at).parent_path().string();
    sync_directory(parent.empty() ? "." : parent);
  }
  return made;
}

}  // namespace

WorkFolderState work_folder_at(const std::string& path) {
  // Another process may be making or removing it: a folder is foreign if it stays so.
  WorkFolderState state = WorkFolderState::foreign;
  for (int tries = 0; state == WorkFolderState::foreign && tries < kLooks; ++tries)
    state = look_once(path);
  return state;
}

WorkFolder::WorkFolder(const std::string& directory, std::string_view name, std::string target)
    : directory_(directory.empty() ? "." : directory),
      path_(join_path(directory_, name)),
      new_path_(join_path(path_, kNewName)),
      target_(std::move(target)) {}

WorkFolder::WorkFolder(const std::string& directory)
    : WorkFolder(directory, kWorkFolder, directory) {
  made_ = make_directories(directory);
  take({});
}

WorkFolder::WorkFolder(const BesideFile& file, const std::function<void()>& wait)
    : WorkFolder(fs::path(file.path).parent_path().string(),
                 fs::path(path_beside(file.path)).filename().string(), file.path) {
  take(wait);
}

void WorkFolder::refuse_unwritable(const std::string& directory) {
  const std::vector<std::string> missing = missing_directories(directory);
  if (missing.empty()) return refuse_names_in(directory, directory);
  const std::string& first = missing.back();
  if (const int fault = fault_of_writing(fs::path(first).parent_path().string()))
    throw cannot_make_directory(first, fault);
}

void WorkFolder::refuse_unwritable(const BesideFile& file) {
  refuse_names_in(fs::path(file.path).parent_path().string(), file.path);
}

std::string WorkFolder::path_beside(const std::string& file) {
  const fs::path path(file);
  return (path.parent_path() / fmt::format(".{}.shale", path.filename().string())).string();
}

WorkFolder::WorkFolder(Inside /*unused*/, const WorkFolder& run)
    : WorkFolder(run.path_, kInnerName, run.target_) {
  take({});
}

std::unique_ptr<WorkFolder> WorkFolder::inside(const WorkFolder& run) {
  return std::make_unique<WorkFolder>(Inside(), run);
}

JournalSummary WorkFolder::run_left_in(const std::string& directory) {
  const std::string path = join_path(directory, kWorkFolder);
  if (work_folder_at(path) != WorkFolderState::ours) return {};
  return read_journal(join_path(path, kJournalName));
}

void WorkFolder::clear_left(const std::string& directory) noexcept try {
  if (is_left(join_path(directory, kWorkFolder))) WorkFolder(directory).remove();
} catch (...) {
  return;  // another process works there, or nothing can be written
}

void WorkFolder::clear_left_without_journal(const std::string& directory) noexcept try {
  if (!stands(join_path(join_path(directory, kWorkFolder), kJournalName))) clear_left(directory);
} catch (...) {
  return;  // as above
}

void WorkFolder::clear_left_of_file(const std::string& file) noexcept try {
  if (is_left(path_beside(file))) WorkFolder(BesideFile{file}).remove();
} catch (...) {
  return;  // as above
}

WorkFolder::~WorkFolder() { release(); }

void WorkFolder::take(const std::function<void()>& wait) try {
  int tries = 0, busy = 0;
  for (Lock lock = try_lock(); lock != Lock::taken; lock = try_lock()) {
    if (lock == Lock::lost) {
      if (++tries == kMostTries) throw error(ENOENT, "cannot keep its lock file");
      continue;
    }
    if (!wait && ++busy > kTriesOfBusy) {
      throw Error(Code::exists, "another shale process is writing here")
          .at(target_)
          .hint("wait for it to end, or choose another output");
    }
    if (wait) wait();
    std::this_thread::sleep_for(kBetweenTries);
  }
  mark();
  const auto make_new = [&] { return ::mkdir(new_path_.c_str(), 0777); };
  if (retried(new_path_, make_new) != 0 && errno != EEXIST) throw error(errno, "cannot be written");
  if (!is_real_folder(new_path_)) throw error(ENOTDIR, "cannot be written");
} catch (...) {
  abandon();
  throw;
}

Error no_folder_for(const std::string& output, const std::string& folder) {
  return Error(Code::not_found, "the folder that it is to be written to does not exist")
      .at(output)
      .hint("make it first: mkdir -p '" + printable(folder) + "'");
}

WorkFolder::Lock WorkFolder::try_lock() {
  if (retried(path_, [&] { return ::mkdir(path_.c_str(), 0777); }) == 0) {
    made_folder_ = true;
  } else if (errno == ENOENT) {
    throw no_folder_for(target_, directory_);
  } else if (errno != EEXIST) {
    throw error(errno, "cannot be written");
  }
  if (work_folder_at(path_) == WorkFolderState::foreign) {
    throw Error(Code::exists, "is not a work folder of shale, but shale needs its name")
        .at(path_)
        .hint("move it away, or choose another output");
  }
  const std::string lock_path = join_path(path_, kLockName);
  lock_ = above_standard_descriptors(retried(lock_path, [&] {
    return ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  }));
  if (lock_ < 0 && errno == ENOENT) return Lock::lost;  // the folder was removed under us
  if (lock_ < 0) throw error(errno, "cannot create its lock file");
  // Network file systems may have no locks (ENOLCK, ENOTSUP): then nothing guards against a second
  // writer.
  const int held_by_other = uninterrupted([&] { return ::flock(lock_, LOCK_EX | LOCK_NB); });
  if (held_by_other != 0 && errno == EWOULDBLOCK) {
    ::close(std::exchange(lock_, -1));
    return Lock::busy;
  }
  if (is_still_ours()) return Lock::taken;
  ::close(std::exchange(lock_, -1));
  return Lock::lost;
}

// Whoever removes the folder of a run may find another run's in its place.
bool WorkFolder::is_still_ours() const noexcept {
  struct stat held {
  }, named{};
  return ::fstat(lock_, &held) == 0 &&
         ::lstat((path_ + "/").append(kLockName).c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

void WorkFolder::mark() {
  if (mark_of(lock_) == Mark::ours) return;
  write_fully(lock_, as_bytes(kMarker), 0, join_path(path_, kLockName));
  if (uninterrupted([&] { return ::fdatasync(lock_); }) != 0)
    throw error(errno, "cannot write its lock file");
  sync_directory(path_);
}

Error WorkFolder::error(int error_number, std::string_view what) const {
  return because_of_room(Error(Code::io, "{}", what).at(target_), path_, error_number);
}

JournalSummary WorkFolder::previous_run() const {
  return read_journal(join_path(path_, kJournalName));
}

void WorkFolder::clear() {
  const std::string journal = join_path(path_, kJournalName);
  std::vector<std::string> paths{journal, Journal::tail_path(journal), listing_path()};
  for (const std::string& name : names_in(new_path_)) paths.push_back(join_path(new_path_, name));
  for (const std::string& path : paths) {
    if (remove_file(path) || errno == EISDIR) continue;
    throw Error(Code::io, "cannot remove a file of an earlier run").at(path).because_errno(errno);
  }
}

void WorkFolder::begin(std::string_view request) {
  journal_ = Journal::create(join_path(path_, kJournalName), request);
  sync_directory(path_);
  sync_directory(directory_);  // what is in a folder lasts no longer than its name
}

void WorkFolder::resume(const JournalSummary& previous) {
  journal_ = Journal::reopen(join_path(path_, kJournalName), previous);
  if (!previous.tail.empty()) {
    sync_tail(previous);
    keep_whole_shards();
  }
  drop_unfinished_files();
}

void WorkFolder::sync_tail(const JournalSummary& previous) try {
  for (const std::string& line : previous.tail) {
    const ManifestShard shard = parse_line(line).shard;
    for (const ManifestFile& file : shard.files) sync_file(join_path(new_path_, file.name));
    for (const ManifestFile* list : shard.lists()) {
      if (!list->name.empty()) sync_file(join_path(new_path_, list->name));
    }
  }
  for (const std::string& name : names_in(new_path_)) {
    if (is_kept_list(name)) sync_file(join_path(new_path_, name));
  }
  sync_directory(new_path_);
} catch (...) {
  forget_whole_shards();
  throw;
}

void WorkFolder::resume_lines(const JournalSummary& previous) {
  journal_ = Journal::reopen(join_path(path_, kJournalName), previous);
}

void WorkFolder::add_line(std::string_view line) { journal_.add(line); }

std::string WorkFolder::last_line() const {
  std::string last;
  (void)read_journal(join_path(path_, kJournalName), [&](std::string_view line) { last = line; });
  return last;
}

void WorkFolder::add_shard(const ManifestShard& shard, std::string_view state) {
  journal_.add(fmt::format("{}\t{}", state, shard_line(shard)));
}

void WorkFolder::add_whole_shard(const ManifestShard& shard, std::string_view state) {
  journal_.add_to_tail(fmt::format("{}\t{}", state, shard_line(shard)));
}

WorkFolder::ShardOfRun WorkFolder::parse_line(std::string_view line) {
  const std::size_t tab = line.find('\t');
  return {parse_shard_line(line.substr(tab + 1)), line.substr(0, tab)};
}

void WorkFolder::for_each_shard(const std::function<void(const ManifestShard&)>& visit) const {
  for_each_state([&](const ManifestShard& shard, std::string_view) { visit(shard); });
}

void WorkFolder::for_each_state(
    const std::function<void(const ManifestShard&, std::string_view)>& visit) const {
  (void)read_journal(join_path(path_, kJournalName), [&](std::string_view line) {
    const ShardOfRun of_run = parse_line(line);
    visit(of_run.shard, of_run.state);
  });
}

std::string WorkFolder::last_state() const {
  const std::string line = last_line();
  return line.substr(0, line.find('\t'));
}

std::string WorkFolder::listing_path() const { return join_path(path_, kListingName); }
std::string WorkFolder::new_listing_path() const { return join_path(path_, kNewListingName); }
bool WorkFolder::holds_listing() const { return stands(listing_path()); }
void WorkFolder::keep_new_listing() {
  if (stands(new_listing_path())) rename_file(new_listing_path(), listing_path());
}

void WorkFolder::drop_journal() const {
  const std::string path = join_path(path_, kJournalName);
  if (!remove_file(path) || !remove_file(Journal::tail_path(path)))
    throw error(errno, "cannot remove its journal");
  sync_directory(path_);
}

void WorkFolder::drop_unfinished_files() noexcept {
  if (!is_still_ours()) return;
  for (const std::string& name : names_in(new_path_)) {
    const std::optional<std::uint64_t> shard = shard_of_file(name);
    const bool is_whole =
        shard && *shard >= first_shard_ && *shard - first_shard_ < journal_.lines();
    if (!is_kept_list(name) && !is_whole) (void)remove_file(join_path(new_path_, name));
  }
}

// What a command left there that was killed.
void WorkFolder::remove_inner() noexcept try {
  if (is_left(join_path(path_, kInnerName))) inside(*this)->remove();
} catch (...) {
  return;  // it is in nobody's way
}

void WorkFolder::remove() noexcept {
  journal_ = {};
  if (!is_still_ours()) return release();
  remove_inner();
  for (const std::string& name : names_in(new_path_)) (void)remove_file(join_path(new_path_, name));
  ::rmdir(new_path_.c_str());
  for (const std::string_view name : {kJournalName, kListingName, kNewListingName})
    (void)remove_file(join_path(path_, name));
  (void)remove_file(Journal::tail_path(join_path(path_, kJournalName)));
  // A folder that must stay keeps its mark: it goes last. Its name goes before the lock does, so
  // that whoever waits for it sees that it is another's no more; where that leaves a hidden file
  // until it is closed (FUSE, NFS), the folder is the next run's to remove.
  const auto [left, is_whole] = list_names(path_);
  const bool is_empty = is_whole && std::all_of(left.begin(), left.end(), [](const auto& name) {
                          return name == kLockName || is_deleted(name);
                        });
  if (is_empty) (void)remove_file(join_path(path_, kLockName));
  release();
  if (!is_empty) return;
  if (::rmdir(path_.c_str()) == 0) return;
  try {
    if (!is_real_folder(path_)) return;
    sync_directory(directory_);
  } catch (const Error&) {
    return;
  }
  ::rmdir(path_.c_str());
}

void WorkFolder::abandon() noexcept {
  if (lock_ >= 0) {
    remove();
  } else if (made_folder_) {
    ::rmdir(path_.c_str());
  }
  // Only those that are empty.
  for (auto directory = made_.rbegin(); directory != made_.rend(); ++directory)
    ::rmdir(directory->c_str());
}

void WorkFolder::release() noexcept {
  journal_ = {};
  if (lock_ >= 0) ::close(std::exchange(lock_, -1));
}

}  // namespace shale
