#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shale/base/checksum.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// What is known of a list of samples when all of it has been seen: totals, the fingerprint, the
/// hash of the labels, and whether those are in order. The samples come in the order of the list,
/// before any shuffle; each is its files, then its end. One thread.
class SourceTotals {
 public:
  explicit SourceTotals(std::string_view kind) { add_text(kind); }

  /// A file of the next sample: its name in the list, and its bytes.
  void add_file(std::string_view name, std::uint64_t bytes);
  /// The sample of these files is complete; it has no label if it lacks one. True: it has more
  /// bytes than any before it.
  bool end_sample(std::optional<std::int64_t> label);

  /// In the order of their labels, of more than one class.
  [[nodiscard]] bool are_sorted() const { return is_sorted_ && !is_one_class_; }
  [[nodiscard]] Hash128 labels() const { return labels_.digest(); }
  /// Samples, bytes and fingerprint of `info.manifest`.
  void give_totals(SourceInfo& info) const;
  /// The hash of the labels, and whether the samples are in their order.
  void give_labels(SourceInfo& info, bool is_shuffled) const;

 private:
  void add_text(std::string_view text);

  Hasher128 fingerprint_, labels_;
  std::uint64_t samples_ = 0, bytes_ = 0, bytes_of_sample_ = 0, most_ = 0;
  std::int64_t last_label_ = 0;
  bool is_sorted_ = true, is_one_class_ = true;
};

}  // namespace shale
