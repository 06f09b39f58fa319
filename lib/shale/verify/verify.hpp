#pragma once

#include "shale/base/events.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// Verifies a dataset, and reports exactly what is damaged. Damage is a finding and never ends the
/// work. Findings go to `sink` as they are made: shard by shard, the same whatever the number of
/// jobs; where there are thousands in one place only the first of them do, and the report has the
/// number of all. A stop is heard within a fraction of a second. Errors: Code::not_found;
/// Code::mismatch for a directory without manifest (unfinished); Code::interrupted; Code::limit for
/// a sample that the memory cannot hold; Code::io.
[[nodiscard]] VerifyReport verify(const VerifyRequest& request, const FindingSink& sink,
                                  const Events& events);

}  // namespace shale
