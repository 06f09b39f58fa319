#pragma once

#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// True if the samples of a dataset are made again, all of them, to be compared by their digests:
/// those whose images were worked on, beside a dataset that is not a copy, or without keys to find
/// each by. `is_of_folder`: what it is compared with is a folder.
[[nodiscard]] bool is_remade(const OpenedDataset& dataset, const VerifyRequest& request,
                             bool is_of_folder, const Events& events);

/// Does the image work on all samples of the source, and compares the digests of the results with
/// those of the dataset; where the codec is another one, the digests of what went in. Errors: same
/// as open_input and encode_all.
void compare_remade(const OpenedDataset& dataset, const VerifyRequest& request,
                    const FindingSink& sink, const Events& events, std::vector<std::string>& notes);

/// A fact of the dataset that must be that of what it is compared with.
void compare_fact(std::string_view what, const std::string& found, const std::string& expected,
                  const std::string& of, const FindingSink& sink);
/// Their number, and the digest of all of them in any order.
void compare_samples(const DatasetDigest& ours, const DatasetDigest& theirs, const std::string& of,
                     const FindingSink& sink);

}  // namespace shale
