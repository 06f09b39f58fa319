#pragma once

#include <memory>

#include "shale/data/part_number.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// One part of a source, which is at its first sample: the samples at the positions that
/// PartNumber gives, of its order, shuffled or not. All parts together are the source: what it
/// lists beside its samples (ignored entries, samples that were skipped before) belongs to the
/// first. Errors: same as Source::narrow.
[[nodiscard]] std::unique_ptr<Source> make_part_source(std::unique_ptr<Source> whole,
                                                       const PartNumber& part);

}  // namespace shale
