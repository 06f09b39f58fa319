#pragma once

#include <cstdint>
#include <functional>

#include "shale/data/sample.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// The sample of a batch with `leaves_large`, its large values unread. `step` comes between reads,
/// in the thread that reads, and may throw, to stop. Errors: same as load_batch.
[[nodiscard]] Sample load_unread(Batch& batch, const SourceInfo& source, BatchReader& reader,
                                 const std::function<void()>& step);

}  // namespace shale
