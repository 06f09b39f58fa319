#pragma once

#include "shale/base/events.hpp"
#include "shale/report/report_facts.hpp"
#include "shale/report/reported_set.hpp"

namespace shale {

/// Everything that a report of a dataset shows: from the manifest and the index, and from a sample
/// of the payload. Reads only. Damage is in the facts, and does not end the work, as long as the
/// dataset can be opened.
/// The same dataset and request give the same facts, whatever the number of jobs; of the memory
/// depends only what is too large to be read, or decoded.
/// Memory: request.memory_bytes, and 64 MiB.
/// Errors: same as Loader; same as verify(); Code::interrupted; Code::io.
[[nodiscard]] ReportFacts gather_report(const ReportRequest& request, const Events& events);

}  // namespace shale
