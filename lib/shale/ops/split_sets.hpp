#pragma once

#include <functional>
#include <optional>

#include "shale/base/events.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// The work of convert() for one dataset.
using ConvertOne = std::function<ConvertReport(const ConvertRequest&, const Events&)>;

/// Writes a dataset per split, OUTPUT/train, OUTPUT/val ..., each as `convert_one` writes it: where
/// the input is a folder of splits (find_split_folders), or `request.split` divides it. Each is
/// complete by itself, so a run that was killed goes on with the first one that is not. The report
/// has that of each in `splits`, and their sums. Nullopt: the request is of one dataset, or of one
/// file. Errors: Code::exists for an output that is a dataset itself, or holds a dataset of another
/// split; Code::usage for options that are of one dataset; same as convert, find_split_folders and
/// SplitRows.
[[nodiscard]] std::optional<ConvertReport> convert_splits(const ConvertRequest& request,
                                                          const Events& events,
                                                          const ConvertOne& convert_one);

}  // namespace shale
