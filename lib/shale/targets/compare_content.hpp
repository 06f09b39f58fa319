#pragma once

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/format/format.hpp"
#include "shale/format/source.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// True if the input is one file, or arrays, as it was when the dataset was made, of the same
/// sizes, but the samples of its content that the fingerprint has are not: only a comparison of all
/// tells.
[[nodiscard]] bool has_other_content(const ManifestSource& was, const ManifestSource& is);

/// True if a file of the input was modified after the dataset at `request.output` was finished, by
/// their times of modification: then its content must be compared before it may be called the
/// input of that dataset. Errors: Code::io.
[[nodiscard]] bool has_newer_input(const ConvertRequest& request, const SourceInfo& source);

/// Encodes the whole input as a conversion would, without writing, and compares each sample with
/// the finished dataset at `request.output`, which is that of this very command. Memory:
/// request.memory_bytes. Errors: Code::exists with the first sample (where rows are fixed: the
/// shard) that differs; same as encode_all and prove_input.
void refuse_changed_content(const ConvertRequest& request, const Events& events,
                            const Format& format, Source& source);

}  // namespace shale
