#pragma once

#include "shale/base/events.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// Writes the directory `request.output` of a layout with a file for each of two parts of a split
/// (Layout::Writes::list_files), and its lists (SplitLists). Labels are those of the whole input.
/// The directory gets its name by one rename when all of it is durable: a kill leaves nothing but a
/// hidden work folder beside it, which the next run of the same output clears. Errors: Code::usage
/// for a request without a split into two lists, or with a choice of samples or a part;
/// Code::exists for an output that exists, which is never replaced; same as SplitLists and
/// FileTarget.
[[nodiscard]] ConvertReport convert_to_list_files(const ConvertRequest& request,
                                                  const Events& events);
/// What that would write; nothing is.
[[nodiscard]] ConvertPlan plan_list_files(const ConvertRequest& request, const Events& events);

}  // namespace shale
