#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shale/format/source.hpp"
#include "shale/io/batch_reader.hpp"

namespace shale {

/// The labels of pending samples: the integer field `label`; 0 for all if there is none. One
/// thread.
class LabelReader {
 public:
  explicit LabelReader(const SourceInfo& source);
  /// Of another field: integers as they are, and of reals and text what tells two of them apart.
  /// Errors: Code::usage for a field that the source has not, or of another kind.
  LabelReader(const SourceInfo& source, std::string_view field);
  [[nodiscard]] bool has_labels() const { return field_.has_value(); }
  /// One for each of its rows; those of a run of fixed rows are read. Valid until the next call.
  /// Errors: Code::io; Code::damaged for a file that has shrunk; same as read_number.
  [[nodiscard]] const std::vector<std::int64_t>& of(const PendingSample& sample);

 private:
  void take_column(const PendingSample& run);
  [[nodiscard]] std::int64_t value_of(const PendingSample& sample);

  const SourceInfo& source_;
  std::optional<std::size_t> field_;
  BatchReader reader_;
  std::vector<std::byte> column_;
  std::vector<std::int64_t> labels_;
};

}  // namespace shale
