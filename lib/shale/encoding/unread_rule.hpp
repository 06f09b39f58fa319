#pragma once

#include <cstdint>

#include "shale/format/format.hpp"
#include "shale/format/source.hpp"

// A sample that is larger than all the memory for samples is a batch of its own whose large values
// stay unread: the worker reads them in pieces, for digest and checksums, and the thread that
// commits reads them once more as it writes them.

namespace shale {

/// Values from this size on stay unread.
inline constexpr std::uint64_t kLeastUnreadBytes = 4096;

/// True for a field of the sample whose value stays unread: not text, which is checked as a
/// whole, and not a single image, which is probed as a whole (images in a list are probed one by
/// one).
[[nodiscard]] bool stays_unread(const PendingSample& sample, const SourceInfo& source,
                                std::size_t field);

/// What of the sample has to be in memory at the same time, in bytes of payload.
[[nodiscard]] std::uint64_t held_bytes(const PendingSample& sample, const SourceInfo& source);

/// True if the sample has images in a list whose sizes are not known: one of them may be as large
/// as all that can be held.
[[nodiscard]] bool has_images_of_unknown_size(const PendingSample& sample,
                                              const SourceInfo& source);

/// True if samples of the source that are larger than the memory for them stay unread on their way
/// to this format.
[[nodiscard]] bool may_stay_unread(const SourceInfo& source, const Format& format,
                                   const OptionSet& options);

}  // namespace shale
