#include "shale/ops/convert.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/ops/split_sets.hpp"
#include "shale/targets/coclr_k400.hpp"
#include "shale/targets/coclr_lists.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/target_of.hpp"

namespace shale {
namespace {

// What does not decode has no pixels, and bytes are not among them.
void refuse_kept_raw(const ConvertRequest& request) {
  const bool is_raw = std::ranges::any_of(
      request.images.encode, [](const auto& entry) { return entry.second == EncodeAs::raw; });
  if (!is_raw || request.on_error != OnError::keep) return;
  throw Error(Code::usage,
              "--on-error keep with --encode raw: an image that does not decode has no pixels to "
              "keep")
      .hint("pass --on-error skip or fail");
}

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
  refuse_unfit_split(request);
  refuse_kept_raw(request);
  if (request.layout == kCoclrK400) return convert_for_k400(request, events);
  if (std::optional<ConvertReport> splits = convert_splits(request, events, convert_one))
    return std::move(*splits);
  return convert_one(request, events);
}

}  // namespace shale
