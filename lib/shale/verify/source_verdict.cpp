#include "shale/verify/source_verdict.hpp"

#include <fmt/ranges.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

struct VerdictName {
  SourceVerdict verdict;
  std::string_view name;
};
constexpr VerdictName kVerdictNames[] = {
    {SourceVerdict::none, "none"},
    {SourceVerdict::same, "same"},
    {SourceVerdict::other_order, "other_order"},
    {SourceVerdict::other_fields, "other_fields"},
    {SourceVerdict::source_has_more, "source_has_more"},
    {SourceVerdict::one_of_several, "one_of_several"},
    {SourceVerdict::damaged, "damaged"},
    {SourceVerdict::incomplete, "incomplete"},
    {SourceVerdict::other_keys, "other_keys"},
    {SourceVerdict::different, "different"},
    {SourceVerdict::another_source, "another_source"},
};

std::string samples_text(std::uint64_t samples) {
  return format_counted(samples, "sample", "samples");
}

SourceVerdict verdict_of(const ComparedFacts& facts) {
  if (facts.is_damaged) return SourceVerdict::damaged;
  if (facts.under_other_keys > 0) return SourceVerdict::other_keys;
  const bool has_all = facts.different == 0 && facts.not_in_source == 0;
  if (has_all && facts.not_in_dataset == 0) {
    if (facts.of_other_runs > 0) return SourceVerdict::one_of_several;
    if (facts.left_out > 0) return SourceVerdict::source_has_more;
    if (!facts.fields_besides.empty() || !facts.fields_uncompared.empty() ||
        facts.has_other_order_of_fields)
      return SourceVerdict::other_fields;
    return facts.is_in_other_order ? SourceVerdict::other_order : SourceVerdict::same;
  }
  if (facts.same + facts.different == 0) return SourceVerdict::another_source;
  return has_all ? SourceVerdict::incomplete : SourceVerdict::different;
}

std::string list_of_fields(const std::vector<std::string>& fields) {
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const std::string& name : fields) names.push_back(fmt::format("'{}'", printable(name)));
  return fmt::format("{} {}", names.size() == 1 ? "field" : "fields", fmt::join(names, ", "));
}

// What of its fields and order is not that of the source.
std::string details_of(const ComparedFacts& facts) {
  std::string text;
  if (!facts.fields_besides.empty())
    text += fmt::format(", with the {} besides", list_of_fields(facts.fields_besides));
  if (!facts.fields_uncompared.empty())
    text += fmt::format(", without the {}", list_of_fields(facts.fields_uncompared));
  if (facts.has_other_order_of_fields) text += ", with the fields in another order";
  if (facts.is_in_other_order) text += ", in another order";
  return text;
}

std::string sentence_of(SourceVerdict verdict, const ComparedFacts& facts,
                        const Manifest& dataset) {
  const std::uint64_t all = facts.same + facts.different + facts.not_in_source;
  switch (verdict) {
    case SourceVerdict::none:
      return {};
    case SourceVerdict::same:
    case SourceVerdict::other_order:
    case SourceVerdict::other_fields:
      return "the source holds the same samples" + details_of(facts);
    case SourceVerdict::source_has_more:
      return fmt::format("the source holds these samples and {} more{}",
                         format_count(facts.left_out), details_of(facts));
    case SourceVerdict::one_of_several:
      return fmt::format(
          "the source holds the samples of {} of the {} inputs that it was made from: {} of {}{}",
          facts.runs_found, dataset.runs.size(), format_count(facts.same),
          samples_text(dataset.digest.samples), details_of(facts));
    case SourceVerdict::other_keys:
      return fmt::format("the source holds {} under other keys",
                         facts.under_other_keys == all
                             ? "the same samples"
                             : fmt::format("{} of its {}", format_count(facts.under_other_keys),
                                           samples_text(all)));
    case SourceVerdict::another_source:
      return "the source holds none of its samples";
    case SourceVerdict::damaged:
      if (facts.different + facts.not_in_source + facts.not_in_dataset + facts.lost_shards.size() ==
          0)
        return "the source holds the samples that were written";
      break;
    case SourceVerdict::incomplete:
    case SourceVerdict::different:
      break;
  }
  std::string text = fmt::format("{} of its {} {} the same in the source", format_count(facts.same),
                                 samples_text(all + facts.of_other_runs + facts.lost_rows),
                                 facts.same == 1 ? "is" : "are");
  if (facts.different > 0) {
    text += fmt::format(", {} {}", format_count(facts.different),
                        facts.different == 1 ? "differs" : "differ");
  }
  if (facts.not_in_source > 0)
    text += fmt::format(", {} not in the source", format_count(facts.not_in_source));
  if (facts.of_other_runs > 0)
    text += fmt::format(", {} of other inputs", format_count(facts.of_other_runs));
  if (facts.not_in_dataset > 0)
    text +=
        fmt::format("; {} of the source not in the dataset", samples_text(facts.not_in_dataset));
  return text;
}

// What cannot be read is not compared.
std::string lost_of(const ComparedFacts& facts) {
  if (facts.lost_shards.empty()) return {};
  const std::size_t more = facts.lost_shards.size() - 1;
  return fmt::format("; {} of the source not compared: {}{} cannot be read",
                     samples_text(facts.in_lost_shards), printable(facts.lost_shards.front()),
                     more == 0 ? "" : fmt::format(" and {} more", format_count(more)));
}

// What it did not take is not compared.
std::string skipped_of(const ComparedFacts& facts, const Manifest& dataset) {
  if (facts.skipped == 0) return {};
  const std::string samples = samples_text(facts.skipped) + " of the source";
  if (dataset.layout.is_of_one_file())
    return fmt::format("; {} {} bad, and not in the file", samples,
                       facts.skipped == 1 ? "is" : "are");
  return fmt::format("; {} {} skipped ({})", samples, facts.skipped == 1 ? "was" : "were",
                     kSkippedName);
}

}  // namespace

std::string_view name_of(SourceVerdict verdict) {
  for (const VerdictName& one : kVerdictNames) {
    if (one.verdict == verdict) return one.name;
  }
  return "none";
}

bool is_of_some_samples(const Manifest& dataset) {
  return has_chosen_samples(dataset) || dataset.part.has_value();
}

SourceComparison judge(const ComparedFacts& facts, const Manifest& dataset) {
  const SourceVerdict verdict = verdict_of(facts);
  return {.verdict = verdict,
          .same = facts.same,
          .different = facts.different,
          .not_in_source = facts.not_in_source + facts.of_other_runs,
          .not_in_dataset = facts.not_in_dataset + facts.left_out,
          .skipped = facts.skipped,
          .sentence =
              sentence_of(verdict, facts, dataset) + lost_of(facts) + skipped_of(facts, dataset)};
}

}  // namespace shale
