#pragma once

#include <optional>
#include <string>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/requests/convert_request.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/targets/identity.hpp"
#include "shale/targets/run_state.hpp"

// How a conversion continues where an earlier run of the same command was stopped.

namespace shale {

/// What an earlier run left in a work folder.
struct UnfinishedRun {
  JournalSummary journal;           ///< empty: there is nothing to go on with
  RunState state;                   ///< when its last shard was closed
  std::optional<Error> fault = {};  ///< why nothing can go on with it

  /// True if it has something to lose: shards.
  [[nodiscard]] bool is_worth_keeping() const { return fault || journal.holds_lines(); }
};

/// Looks at the size of each file of each shard, and at the hashes of as many indexes as take a
/// moment, the last ones first. Of the journal's tail what is not as it was written is left out: a
/// power failure may have taken it. `run`: same as for Conversion. Errors: Code::interrupted only;
/// all else is the run's fault.
[[nodiscard]] UnfinishedRun find_unfinished_run(const WorkFolder& work, const Events& events,
                                                std::uint64_t run = 0);

/// What the journal says of a run: identity_of(wanted), and what besides must be the same for the
/// run to be continued: versions, and the files that are read with their sizes and times.
[[nodiscard]] std::string journal_head(const ConvertRequest& request, const Manifest& wanted,
                                       const SourceInfo& source);

/// The files that are read, each with size and modification time: those of a dataset are proved by
/// its manifest.
void add_stamp(Identity& identity, const std::string& input);

/// True if the request asks to go on with what is there, should it be of the same command: not if
/// --overwrite was added to discard it.
[[nodiscard]] bool asks_to_continue(const ConvertRequest& request, const UnfinishedRun& left);

/// True if the run that was left is of the command with this head.
[[nodiscard]] bool is_head_of(const UnfinishedRun& left, const std::string& head);

/// Errors: Code::exists for an unfinished run of another command that has shards, and its
/// fault, unless it is to be overwritten.
void refuse_other_run(const ConvertRequest& request, const UnfinishedRun& left,
                      const std::string& head);

/// Where to go on: nullopt if what was left is not of this command, or is not to be continued.
[[nodiscard]] std::optional<RunState> resumption_of(const ConvertRequest& request,
                                                    const UnfinishedRun& left,
                                                    const std::string& head);

}  // namespace shale
