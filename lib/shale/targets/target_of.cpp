#include "shale/targets/target_of.hpp"

#include "shale/targets/append_target.hpp"
#include "shale/targets/class_target.hpp"
#include "shale/targets/file_target.hpp"
#include "shale/targets/shard_target.hpp"

namespace shale {

std::unique_ptr<Target> target_of(const ConvertRequest& request) {
  if (format_of_output(request.output) != nullptr) return std::make_unique<FileTarget>(request);
  if (request.is_append) return std::make_unique<AppendTarget>(request);
  if (is_by_class(request)) return std::make_unique<ClassTarget>(request);
  return std::make_unique<ShardTarget>(request);
}

}  // namespace shale
