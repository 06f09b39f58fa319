#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/manifest.hpp"
#include "shale/manifest/journal.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {

/// What stands where a work folder would be. `blank`: an empty folder, or what a run leaves that is
/// killed before it has marked its folder: taken over. `foreign`: anything else.
enum class WorkFolderState { absent, blank, ours, foreign };
[[nodiscard]] WorkFolderState work_folder_at(const std::string& path);

/// The folder in which one output is built, on the file system where it is to stand: OUT/.shale for
/// a dataset, .FILE.shale beside a single file. It holds `lock`, with a marker that says whose the
/// folder is, locked (flock) as long as the run lives; `journal`: which command this is and which
/// shards are whole, a line each, fsynced; `listing`, the files of a folder that is read; and
/// `new/`, the files of the new output. All files in `new/` belong to the run; of anything else in
/// the folder nothing is ever removed.
class WorkFolder {
  struct Inside {
    explicit Inside() = default;
  };

 public:
  /// Of the dataset OUT: makes OUT and the folder, durably, and takes the lock. Errors:
  /// Code::exists if another process works here, or what stands here is not a work folder of shale;
  /// Code::io.
  explicit WorkFolder(const std::string& directory);
  /// For a file in an existing folder. `wait` is called again and again while another
  /// process works there (it may throw); null: that is refused. Errors: same as above.
  struct BesideFile {
    std::string path;
  };
  explicit WorkFolder(const BesideFile& file, const std::function<void()>& wait = {});
  /// Another one in the folder of a run, which holds the lock and outlives it; it goes with that.
  [[nodiscard]] static std::unique_ptr<WorkFolder> inside(const WorkFolder& run);
  /// For `inside` alone, which can name the type of the first argument.
  WorkFolder(Inside, const WorkFolder& run);
  /// Refuses what the constructors would refuse, as far as that shows without writing: a folder
  /// that may not be written to, one that cannot be made. Errors: same as theirs.
  static void refuse_unwritable(const std::string& directory);
  static void refuse_unwritable(const BesideFile& file);
  /// Where the folder of a file is.
  [[nodiscard]] static std::string path_beside(const std::string& file);
  /// The journal that a run left in the folder of a dataset, whether another one works there or
  /// not; empty if there is none. Errors: same as read_journal.
  [[nodiscard]] static JournalSummary run_left_in(const std::string& directory);
  /// Removes what a run left that was killed when its output stood already. Never throws: it is in
  /// nobody's way.
  static void clear_left(const std::string& directory) noexcept;
  static void clear_left_of_file(const std::string& file) noexcept;
  /// The same for a command beside a dataset: a run with a journal can be continued, and stays.
  static void clear_left_without_journal(const std::string& directory) noexcept;
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  static constexpr std::string_view kNewName = kNewFolder;
  /// new/: where the files of the output are written.
  [[nodiscard]] const std::string& path() const { return new_path_; }
  /// The folder itself.
  [[nodiscard]] const std::string& root() const { return path_; }
  /// The journal of the run before, as far as it is whole: its head is the description of its
  /// command, its lines are shards. Errors: same as read_journal.
  [[nodiscard]] JournalSummary previous_run() const;
  /// How many shards of this run are whole.
  [[nodiscard]] std::uint64_t shards() const { return journal_.lines(); }
  [[nodiscard]] bool holds_shards() const { return shards() > 0; }
  [[nodiscard]] bool holds_lines() const { return journal_.lines() > 0; }
  /// Of shards that come behind others: the number of the first one. Before begin() or resume().
  void number_shards_from(std::uint64_t first) { first_shard_ = first; }
  /// Empties new/ and removes the journal and the listing.
  void clear();

  /// Begins a journal with the description of the command. Errors: Code::io.
  void begin(std::string_view request);
  /// Goes on with the run before, instead of clear() and begin(): makes the shards in its tail
  /// durable, and removes all from new/ but its shards and its lists. Errors: Code::io.
  void resume(const JournalSummary& previous);
  /// The same for what is not shards: nothing is removed.
  void resume_lines(const JournalSummary& previous);
  void add_line(std::string_view line);
  /// The last line of the journal; empty if it has none.
  [[nodiscard]] std::string last_line() const;
  /// The shard is durable, and all before it. `state`: of the run when it was closed, in one line
  /// without tabs.
  void add_shard(const ManifestShard& shard, std::string_view state);
  /// The shard is whole, and will be durable with the next add_shard() or keep_whole_shards().
  void add_whole_shard(const ManifestShard& shard, std::string_view state);
  /// The whole shards are durable.
  void keep_whole_shards() { journal_.keep_tail(); }
  /// The whole shards could not be made durable: they are not part of the run any more. Nothing may
  /// believe a second attempt (see docs/durability.md, fsync).
  void forget_whole_shards() noexcept { journal_.drop_tail(); }
  /// What a line of the journal says of a shard, and of the run.
  struct ShardOfRun {
    ManifestShard shard;
    std::string_view state;  ///< points into the line
  };
  [[nodiscard]] static ShardOfRun parse_line(std::string_view line);
  void for_each_shard(const std::function<void(const ManifestShard&)>& visit) const;
  /// With the state of the run when it was closed.
  void for_each_state(
      const std::function<void(const ManifestShard&, std::string_view state)>& visit) const;
  /// The state of the run when its last shard was closed; empty if it has none.
  [[nodiscard]] std::string last_state() const;

  /// The list of the input's files, in the folder until the run ends: that of this run, and where a
  /// new one is written first.
  [[nodiscard]] std::string listing_path() const;
  [[nodiscard]] std::string new_listing_path() const;
  [[nodiscard]] bool holds_listing() const;
  /// The new listing is that of this run. Before begin(), which makes it durable.
  void keep_new_listing();

  /// The new set is complete: there is nothing to continue from now on. Errors: Code::io.
  void drop_journal() const;

  /// Removes all but the whole shards and the lists from new/, to free its space; the journal
  /// stays. Never throws.
  void drop_unfinished_files() noexcept;
  /// Removes the folder, if it is still the one that this made or took. What cannot go stays, and
  /// is in nobody's way: the output is not in it.
  void remove() noexcept;
  /// Leaves no trace of a run: removes the folder, and the directories that were made for it.
  void abandon() noexcept;

 private:
  WorkFolder(const std::string& directory, std::string_view name, std::string target);
  void take(const std::function<void()>& wait);
  /// `lost`: it was removed between the open and the lock.
  enum class Lock { taken, busy, lost };
  [[nodiscard]] bool is_still_ours() const noexcept;
  [[nodiscard]] Lock try_lock();
  void mark();
  void sync_tail(const JournalSummary& previous);
  void remove_inner() noexcept;
  void release() noexcept;
  [[nodiscard]] Error error(int error_number, std::string_view what) const;

  std::string directory_, path_, new_path_;
  std::string target_;  // the output, for messages
  int lock_ = -1;
  Journal journal_;
  std::uint64_t first_shard_ = 0;
  std::vector<std::string> made_;  // directories, outermost first
  bool made_folder_ = false;
};

/// The error for an output in a folder that does not exist.
[[nodiscard]] Error no_folder_for(const std::string& output, const std::string& folder);

}  // namespace shale
