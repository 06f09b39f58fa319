#pragma once

#include <string_view>

#include "shale/base/events.hpp"
#include "shale/format/format.hpp"
#include "shale/format/source.hpp"
#include "shale/io/free_space.hpp"
#include "shale/requests/convert_request.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {

inline constexpr std::string_view kSpaceHint = "free some space, or choose another output";
/// Nothing of an old set is removed before the new one is complete.
inline constexpr std::string_view kSpaceForBothHint =
    "the old dataset stays until the new one is complete: free space for both, or remove the old "
    "one yourself";

/// What a conversion writes at least, as far as the sizes of its input tell: samples, indexes, and
/// the number of files. Never more than what it will write: bad images that may be left out and
/// what a container adds are not counted.
[[nodiscard]] SpaceNeed least_space(const ConvertRequest& request, const Format& format,
                                    const SourceInfo& source,
                                    const ShardSetWriter::Options& division);

/// Compares that, less what an earlier run has left in the work folder, with what is free, before
/// the first byte. Where the file system may store less than it is given (it compresses, or a
/// server decides), it is a note. Errors: Code::io with both numbers and the hint.
void require_space(const ConvertRequest& request, const Format& format, const SourceInfo& source,
                   const ShardSetWriter::Options& division, const WorkFolder& work,
                   std::string_view hint, const Events& events);

}  // namespace shale
