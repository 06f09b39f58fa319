#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/sources/input_request.hpp"

namespace shale {

/// How inputs with names go together, whatever is in each of them.
struct JoinVerdict {
  std::uint64_t samples = 0;  ///< of the join
  std::uint64_t alone = 0;    ///< samples without a partner, each a finding
  std::uint64_t bytes = 0;    ///< of their values, which were not read
  std::vector<std::string> notes = {};
};

/// Joins inputs as a conversion does, and goes through all samples: keys and numbers are read,
/// values are not. Each sample that another input has no partner of is a finding, and so is one
/// that lacks a file. `sink` may be null. Memory: as the source of the join. Errors: same as
/// open_input; Code::damaged for a sample whose index is.
[[nodiscard]] JoinVerdict verify_join(const InputRequest& request, const FindingSink& sink,
                                      const Events& events);

}  // namespace shale
