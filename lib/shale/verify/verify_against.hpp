#pragma once

#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// Compares a dataset with the input it was made from (or with any other): every sample of the
/// source must be in the set or in its skipped.csv, byte for byte and with its label, and nothing
/// else may be. Both sides are sorted by key on disk. Errors: same as open_input.
void verify_against(const VerifyRequest& request, const OpenedDataset& dataset,
                    const FindingSink& sink, const Events& events, std::vector<std::string>& notes);

}  // namespace shale
