#include "shale/folders/source_totals.hpp"

#include <algorithm>

#include "shale/base/bytes.hpp"

namespace shale {

void SourceTotals::add_text(std::string_view text) {
  fingerprint_.update(bytes_of(std::uint64_t{text.size()}));
  fingerprint_.update(as_bytes(text));
}

void SourceTotals::add_file(std::string_view name, std::uint64_t bytes) {
  add_text(name);
  fingerprint_.update(bytes_of(bytes));
  bytes_of_sample_ += bytes;
}

bool SourceTotals::end_sample(std::optional<std::int64_t> given) {
  const std::int64_t label = given.value_or(0);
  labels_.update(bytes_of(label));
  if (!given) labels_.update(as_bytes("none"));
  const bool is_first = samples_++ == 0;
  if (!is_first) {
    is_sorted_ = is_sorted_ && last_label_ <= label;
    is_one_class_ = is_one_class_ && last_label_ == label;
  }
  last_label_ = label;
  bytes_ += bytes_of_sample_;
  const bool is_largest = is_first || bytes_of_sample_ > most_;
  most_ = std::max(most_, bytes_of_sample_);
  bytes_of_sample_ = 0;
  return is_largest;
}

void SourceTotals::give_totals(SourceInfo& info) const {
  info.manifest.samples = samples_;
  info.manifest.bytes = bytes_;
  info.manifest.fingerprint = fingerprint_.digest();
}

void SourceTotals::give_labels(SourceInfo& info, bool is_shuffled) const {
  info.labels = labels();
  info.labels_are_sorted = are_sorted() && !is_shuffled;
}

}  // namespace shale
