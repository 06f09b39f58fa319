#pragma once

#include <cstdint>
#include <memory>

#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/folders/file_tree.hpp"
#include "shale/folders/folder_request.hpp"
#include "shale/format/source.hpp"
#include "shale/verify/compare_remade.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// A dataset, and how it is compared with the files that it was made of.
struct FilesToCompare {
  const VerifyRequest& request;
  const OpenedDataset& dataset;
  std::shared_ptr<FileTree> tree;  ///< of an archive; null: a folder, or a stream
  bool compares_labels;
  const ComparedWork& work;
};

struct FilesCompared {
  std::uint64_t left_out = 0;  ///< samples of the source that a dataset of chosen samples left out
  /// Labels of a stream that were not compared: neither side has names for them.
  bool has_unknown_labels = false;
};

/// Compares each file of a source, a folder or an archive, with the sample of its key, byte by
/// byte; a stream in one pass. Memory: the request's, less what the source takes. Errors: those of
/// the source; Code::mismatch for fields that do not fit; Code::io.
[[nodiscard]] FilesCompared compare_files(Source& source, const FilesToCompare& compared,
                                          const FindingSink& sink, const Events& events);

/// Whether hidden files were taken when the dataset was made.
[[nodiscard]] HiddenPolicy hidden_policy_of(const Manifest& manifest);

}  // namespace shale
