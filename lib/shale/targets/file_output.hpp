#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/source.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/work_folder.hpp"

// What the commands share that write one file.

namespace shale {

/// The error for an output that exists. To be thrown.
[[nodiscard]] Error already_exists(const std::string& output);

/// Errors: Code::exists for an output that exists and must not be overwritten, or a folder.
void refuse_taken_output(const std::string& output, bool overwrite);

/// Errors: Code::unsupported for images, which no array holds. `are_chosen`: the fields were named
/// one by one.
void refuse_images(const SourceInfo& info, const std::string& output, bool are_chosen);

/// The field that an input's array would hold. `are_chosen`: the fields were named one by one.
/// Errors: Code::usage for several, naming them; Code::unsupported for values that differ in size.
[[nodiscard]] const Field& only_array_field(const SourceInfo& info, const std::string& output,
                                            bool are_chosen);

/// Removes the work folder that a run left which was killed when its output stood already, and
/// finishes its index; not that of one which finish_killed_run() finishes.
void clear_left_output(const std::string& output) noexcept;

/// An output in a work folder beside it, held by this process alone. Removed by the destructor
/// unless it was published; what a kill leaves is removed by the next run of the same output.
class TemporaryOutput {
 public:
  /// Errors: same as a WorkFolder beside a file; Code::exists if a run was killed while this
  /// output, with others, got its name.
  TemporaryOutput(const std::string& output, bool overwrite);
  /// One that a later run of the same command, with the same `head`, goes on with: what such a run
  /// has left is kept, with its journal.
  TemporaryOutput(const std::string& output, bool overwrite, std::string_view head);
  /// What such a run left, to be finished.
  struct OfKilledRun {};
  TemporaryOutput(OfKilledRun, const std::string& output, bool overwrite);
  ~TemporaryOutput();
  TemporaryOutput(const TemporaryOutput&) = delete;
  TemporaryOutput& operator=(const TemporaryOutput&) = delete;

  /// The destructor leaves it to a later run of the same command, unless it was published.
  void keep() { is_kept_ = true; }
  /// Where the file is to be created.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& output() const { return output_; }
  [[nodiscard]] WorkFolder& work() { return work_; }
  /// Where its index would stand.
  [[nodiscard]] const SetPlace& place() const { return place_; }
  /// The file comes without the index in work().path().
  void drop_index() noexcept;
  /// Gives the file its name, durably; it is whole and durable itself. An index in work().path(),
  /// whose manifest was written last, comes with it; that of a file which is replaced goes. Errors:
  /// Code::exists for a name that was taken in the meantime, unless it is to be overwritten;
  /// Code::io.
  void publish();

  // The steps of publish_together. Each may be done twice.

  /// What promise() wrote, or the beginning of it.
  [[nodiscard]] std::optional<std::string> promised() const;
  void promise(std::string_view promise);
  void withdraw_promise() noexcept;
  void move_old_away();
  void take_name();
  /// Puts the old file back, or nothing where there was none. Never throws.
  void undo() noexcept;
  /// Removes the old file.
  void settle() noexcept;

 private:
  const std::string output_;
  const bool overwrite_;
  const SetPlace place_;
  WorkFolder work_;
  const std::string path_, old_path_, promise_path_;
  bool is_kept_ = false;
  bool has_name_ = false;      // this process gave it
  bool is_index_due_ = false;  // the file has its name, but what is beside it is not in place
};

/// An array that is written in order, row after row, into an output that a later run of the same
/// command goes on with: the journal says how much of it is durable. One thread.
class ResumedArray {
 public:
  /// `frame` is of one column. If the format has a checksum, the bytes already written are read
  /// again; `stop_if_asked` is called for each MiB of them. The output, which has a journal, and
  /// the frame outlive it. Errors: Code::io; those of `stop_if_asked`.
  ResumedArray(TemporaryOutput& output, const OutputFile::Options& options,
               const TensorFrame& frame, const std::function<void()>& stop_if_asked);

  /// Bytes of rows that are there already: append() what comes behind them.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] bool is_complete() const { return !file_; }
  void append(Bytes rows);
  /// Makes durable what there is, so that a later run need not write it again.
  void stop();
  /// It is complete and durable. Errors: Code::bug if it does not have all rows.
  void finish();

 private:
  void note(std::uint64_t durable);

  TemporaryOutput& output_;
  const TensorFrame& frame_;
  const std::uint64_t head_bytes_;
  std::uint64_t noted_ = 0;
  std::uint32_t crc32_ = 0;         // of the rows, where the file has it
  std::optional<OutputFile> file_;  // nullopt: complete
};

using TemporaryOutputs = std::vector<std::unique_ptr<TemporaryOutput>>;

/// Gives files that belong together their names: an error leaves what was there before. A reader
/// never finds a new one beside an old one: while names change, old ones are missing. A kill is
/// finished by finish_killed_run. Errors: same as TemporaryOutput::publish.
void publish_together(const TemporaryOutputs& arrays);

/// What the work folders of these outputs say until all of them have their names, in that of
/// `beside`: paths from its folder, so that all may be moved, or mounted elsewhere, together.
[[nodiscard]] std::string promise_of(const std::vector<std::string>& outputs,
                                     const std::string& beside);

/// Finishes what a run left that was killed within publish_together of these outputs. True if there
/// was one. Errors: same as publish_together; Code::exists if its outputs were other ones.
bool finish_killed_run(const std::vector<std::string>& outputs, bool overwrite);

}  // namespace shale
