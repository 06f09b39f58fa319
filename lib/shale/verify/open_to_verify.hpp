#pragma once

#include <optional>

#include "shale/datasets/open_dataset.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// How what another tool wrote is opened to be verified.
[[nodiscard]] DatasetRequest opening_of(const VerifyRequest& request);

/// True if what there is to prove a file of another tool by are the checksums of its container, and
/// they are to be compared.
[[nodiscard]] bool compares_container(const VerifyRequest& request, const Format& format,
                                      const ShardLayout& layout, const InputFile& file);

/// The dataset that a verification is of, its manifest read and its totals verified: a directory,
/// or a file of another tool that has an index. nullopt: there is nothing more to check, all has
/// been said; a file without an index has had its structure checked then. Errors: Code::not_found;
/// Code::mismatch for an unfinished dataset, or a file that has changed since it was indexed;
/// Code::unsupported; Code::io.
[[nodiscard]] std::optional<OpenedDataset> open_to_verify(const VerifyRequest& request,
                                                          VerifyLog& log);

}  // namespace shale
