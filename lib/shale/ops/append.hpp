#pragma once

#include "shale/base/events.hpp"
#include "shale/targets/convert_request.hpp"

namespace shale {

/// Converts an input into shards behind those of the finished dataset at `request.output`, for
/// ConvertRequest::is_append. The files of that dataset are not touched; the manifest is replaced
/// by one rename, so that whoever reads sees the set before or after. Costs what is appended, one
/// read of the indexes where keys are stored, and the manifest. Run again, it is already complete.
/// Errors: Code::usage for options that cannot be combined; Code::not_found where there is no
/// dataset; Code::mismatch for another format, other fields, other classes, or a part of a run;
/// Code::schema for a key that the dataset has already; same as convert.
[[nodiscard]] ConvertReport append_to_dataset(const ConvertRequest& request, const Events& events);

/// True if an append was stopped with complete shards: the same command goes on with them.
[[nodiscard]] bool holds_unfinished_append(const std::string& dataset);

/// The error of an option that means nothing for an append.
[[nodiscard]] Error excluded_by_append(std::string_view option, const std::string& output);

}  // namespace shale
