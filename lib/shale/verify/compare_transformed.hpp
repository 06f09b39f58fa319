#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/finding.hpp"
#include "shale/encoding/sample_transformer.hpp"
#include "shale/flow/shared_budget.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// Where an image of the source lies: a file, or a part of one.
struct SourceExtent {
  const InputFile& file;
  std::uint64_t offset = 0, bytes = 0;
};

/// Does image work again, to compare its results with what a dataset holds. Thread-safe, if each
/// thread has a number of its own below `threads`.
class ImageWorkAgain {
 public:
  /// `keeps_bad`: images that cannot be worked on were kept as they are.
  ImageWorkAgain(std::shared_ptr<const Transform> transform, bool keeps_bad,
                 std::uint64_t memory_bytes, unsigned threads);

  /// True if `stored` is what the rule of that field makes of `source`. Errors: Code::limit for an
  /// image that the memory has no room for.
  [[nodiscard]] bool makes(Bytes source, Bytes stored, std::size_t field, unsigned thread);
  /// What differs from the bytes at `place`; file, shard, row and key are the caller's. Errors:
  /// same as makes; Code::io of the source.
  [[nodiscard]] std::optional<Finding> compare(const SourceExtent& source, const InputFile& file,
                                               const FieldPlace& place, std::size_t field,
                                               unsigned thread);
  /// The same of an image that is in memory, which is the caller's.
  [[nodiscard]] std::optional<Finding> compare(Bytes source, const InputFile& file,
                                               const FieldPlace& place, std::size_t field,
                                               unsigned thread);
  /// True if images of that field were worked on.
  [[nodiscard]] bool is_of(std::size_t field) const { return rule_of(field).has_value(); }

 private:
  [[nodiscard]] std::optional<std::size_t> rule_of(std::size_t field) const;

  const std::shared_ptr<const Transform> transform_;
  const bool keeps_bad_;
  SharedBudget files_;  // of the source: results are compared where they are made
  TransformBudget budget_;
  std::vector<SampleTransformer> transformers_;
};

}  // namespace shale
