#include "shale/verify/compare_transformed.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/verify/compare_sample.hpp"

namespace shale {
ImageWorkAgain::ImageWorkAgain(std::shared_ptr<const Transform> transform, bool keeps_bad,
                               std::uint64_t memory_bytes, unsigned threads)
    : transform_(std::move(transform)),
      keeps_bad_(keeps_bad),
      files_(shares_of(memory_bytes).payload + shares_of(memory_bytes).results),
      budget_(memory_bytes, threads) {
  for (unsigned i = 0; i < threads; ++i) transformers_.emplace_back(*transform_, budget_);
}

std::optional<std::size_t> ImageWorkAgain::rule_of(std::size_t field) const {
  const std::vector<FieldTransform>& rules = transform_->fields();
  const auto found = std::ranges::find(rules, field, &FieldTransform::field);
  if (found == rules.end()) return std::nullopt;
  return static_cast<std::size_t>(found - rules.begin());
}

bool ImageWorkAgain::makes(Bytes source, Bytes stored, std::size_t field, unsigned thread) {
  const std::optional<std::size_t> rule = rule_of(field);
  if (!rule) return std::ranges::equal(source, stored);
  bool is_same = false;
  const SampleTransformer::Outcome outcome = transformers_[thread].run_image(
      source, *rule, [&](Bytes made) { is_same = std::ranges::equal(made, stored); });
  // A list that holds a bad image was kept as a whole.
  const bool may_be_kept = keeps_bad_ || !outcome.fault.empty();
  return is_same || (may_be_kept && std::ranges::equal(source, stored));
}

std::optional<Finding> ImageWorkAgain::compare(const SourceExtent& source, const InputFile& file,
                                               const FieldPlace& place, std::size_t field,
                                               unsigned thread) {
  if (source.bytes > files_.limit())
    throw over_share("the file takes", source.bytes, files_.limit()).at(source.file.path());
  // Taken before the memory for the work, which nobody holds while it waits for this.
  const SharedBudget::Hold hold = files_.acquire(source.bytes);
  std::vector<std::byte> bytes(source.bytes);
  source.file.read_exact(source.offset, bytes);
  return compare(Bytes(bytes), file, place, field, thread);
}

std::optional<Finding> ImageWorkAgain::compare(Bytes source, const InputFile& file,
                                               const FieldPlace& place, std::size_t field,
                                               unsigned thread) {
  std::optional<Finding> finding;
  const auto compare_with = [&](Bytes made) {
    finding =
        compare_sample(file, place, expected_of(made, "what image work makes of the source file"));
  };
  const std::optional<std::size_t> rule = rule_of(field);
  const SampleTransformer::Outcome outcome =
      transformers_[thread].run_image(source, rule.value(), compare_with);
  if (!outcome.fault.empty() || (keeps_bad_ && finding)) compare_with(source);
  return finding;
}

}  // namespace shale
