#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/datasets/open_dataset.hpp"

namespace shale {

/// What the index says of a sample, and its key.
struct ListedSample {
  std::uint64_t row = 0;              ///< over the dataset
  std::string key;                    ///< raw bytes; the row's number where there are no keys
  std::optional<std::int64_t> label;  ///< of the integer field `label`, if there is one
  std::uint64_t bytes = 0;            ///< of its values but numbers, as they are stored
};

/// The samples of a dataset in order, without their payload: the index is read sequentially, and
/// keys many at a time. Each index is proved by its hash before its first row, keys by their
/// crc32c, labels of fixed rows by the hashes of their blocks, if there are any. Memory does
/// not grow with the dataset.
class SampleList {
 public:
  /// The rows [first, end) as far as they exist. `events` outlives it.
  /// Errors: same as open_dataset.
  SampleList(const DatasetRequest& request, std::uint64_t first, std::uint64_t end,
             const Events& events);
  ~SampleList();
  SampleList(const SampleList&) = delete;
  SampleList& operator=(const SampleList&) = delete;

  [[nodiscard]] const Manifest& manifest() const;
  [[nodiscard]] bool has_labels() const;
  /// What of a file is left out.
  [[nodiscard]] const std::vector<std::string>& notes() const;

  /// The next ones, none at the end. Errors: Code::damaged with file and offset; Code::limit for a
  /// key that is larger than the memory; Code::io; Code::interrupted.
  [[nodiscard]] std::vector<ListedSample> next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shale
