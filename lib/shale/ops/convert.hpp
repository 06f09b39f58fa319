#pragma once

#include "shale/base/events.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// Converts an input into what `request.output` is to be: a dataset of shards, one per split, or a
/// file. The result depends on input and options only, never on jobs, memory, machine or working
/// directory. Killed at any moment it
/// leaves no manifest and only whole files under final names; run again, it clears that and
/// finishes the job. Memory: request.memory_bytes, whatever the number of samples. Errors: every
/// Code; the first in input order wins.
[[nodiscard]] ConvertReport convert(const ConvertRequest& request, const Events& events);

/// What that would do: nothing is written. Errors: those of convert() that can be known before the
/// first sample is read.
[[nodiscard]] ConvertPlan plan(const ConvertRequest& request, const Events& events);

}  // namespace shale
