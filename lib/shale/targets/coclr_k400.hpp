#pragma once

#include "shale/base/events.hpp"
#include "shale/targets/convert_request.hpp"

namespace shale {

/// Writes the directory `request.output` for CoCLR's readers of Kinetics-400 (layout coclr-k400): a
/// file k400_frame_train.lmdb and one k400_frame_val.lmdb of layout coclr, and the lists
/// (CoclrLists). Labels are those of the whole input. The directory gets its name by one rename
/// when all of it is durable: a kill leaves nothing but a hidden work folder beside it, which the
/// next run of the same output clears. Errors: Code::usage for a request without a split into two
/// lists, or with a choice of samples or a part; Code::exists for an output that exists, which is
/// never replaced; same as CoclrLists and convert_into_file.
[[nodiscard]] ConvertReport convert_for_k400(const ConvertRequest& request, const Events& events);

}  // namespace shale
