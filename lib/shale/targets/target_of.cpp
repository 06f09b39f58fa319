#include "shale/targets/target_of.hpp"

#include "shale/targets/append_target.hpp"
#include "shale/targets/class_target.hpp"
#include "shale/targets/file_target.hpp"
#include "shale/targets/shard_target.hpp"
#include "shale/targets/stream_target.hpp"

namespace shale {

std::unique_ptr<Target> target_of(const ConvertRequest& request) {
  switch (kind_of_output(request)) {
    case OutputKind::shards:
      return std::make_unique<ShardTarget>(request);
    case OutputKind::appended:
      return std::make_unique<AppendTarget>(request);
    case OutputKind::class_files:
      return std::make_unique<ClassTarget>(request);
    case OutputKind::stream:
      return std::make_unique<StreamTarget>(request);
    default:
      return std::make_unique<FileTarget>(request);
  }
}

}  // namespace shale
