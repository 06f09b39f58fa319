#include "shale/ops/convert.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "shale/ops/split_sets.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/list_files.hpp"
#include "shale/targets/target_of.hpp"

namespace shale {
namespace {

ConvertReport convert_one(const ConvertRequest& request, const Events& events) {
  const std::unique_ptr<Target> target = target_of(request);
  ConvertReport report = convert_into(*target, events);
  // One file was verified before it got its name.
  if (request.verify && !request.is_dry_run && !report.is_one_file)
    verify_output(request, report, events);
  return report;
}

}  // namespace

ConvertReport convert(const ConvertRequest& request, const Events& events) {
  refuse_combinations(request);
  if (kind_of_output(request) == OutputKind::list_files)
    return convert_to_list_files(request, events);
  if (std::optional<ConvertReport> splits = convert_splits(request, events, convert_one))
    return std::move(*splits);
  return convert_one(request, events);
}

}  // namespace shale
