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

/// Compares what a conversion writes at least, as far as the sizes of its input tell, less what an
/// earlier run has left in its work folder, with what is free, and returns it. Where the file
/// system may store less than it is given (it compresses, or a server decides), too little is a
/// note. Errors: Code::io with both numbers and the hint.
SpaceNeed require_space(const ConvertRequest& request, const Format& format,
                        const SourceInfo& source, const ShardSetWriter::Options& division,
                        std::string_view hint, const Events& events);
/// The same for a need that is known. The folder may not be there yet.
void require_space(const std::string& folder, const SpaceNeed& need, std::string_view hint,
                   const Events& events);

}  // namespace shale
