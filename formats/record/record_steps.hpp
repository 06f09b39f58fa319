#pragma once

#include "shale/format/format.hpp"
#include "shale/io/nameless_file.hpp"

#include "formats/record/record_described.hpp"

namespace shale {

/// In front of the names of the features that have a row per step, in the episodes of RLDS.
inline constexpr std::string_view kStepsPrefix = "steps/";

/// What episodes become.
struct FlatSteps {
  DescribedFeatures described;     ///< of a step, by the names that its features have then
  std::vector<std::string> notes;  ///< what is left out, a sentence each
  LeftOutList left_out;
  std::uint64_t episodes = 0;
};

/// Writes an Example for each step of each episode into `into`: `steps/action` is `action`, which
/// has the step's part of the episode's values; all other features are repeated; `episode`
/// counts from the number of the request, `step` from 0. Left out, by name: what has another number
/// of values than steps go into. `described`: of the episodes. Memory: a record, at most a quarter
/// of the memory, a few times. Errors: Code::unsupported for records that are not such episodes;
/// Code::limit; Code::damaged; Code::io.
[[nodiscard]] FlatSteps flatten_steps(const UnpackRequest& request, const InputFile& file,
                                      const DescribedFeatures& described, const NamelessFile& into);

}  // namespace shale
