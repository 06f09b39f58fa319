#pragma once

#include "shale/datasets/open_dataset.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// Compares a dataset with the input it was made from (or with any other): every sample of the
/// source must be in the set or in its skipped.csv, byte for byte and with its label, and nothing
/// else may be. The report of `log` gets the verdict. Both sides are sorted on disk. Errors: same
/// as open_input.
void verify_against(const VerifyRequest& request, const OpenedDataset& dataset, VerifyLog& log);

}  // namespace shale
