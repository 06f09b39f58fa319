#include "shale/report/page_summary.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "shale/base/size_text.hpp"
#include "shale/report/html_text.hpp"
#include "shale/report/page_classes.hpp"

namespace shale {
namespace {

// From here on a set counts as uneven: the largest class has that many times the samples of the
// smallest.
constexpr std::uint64_t kUnevenClasses = 10;
// The path below has all of it.
constexpr std::size_t kNameInHeading = 80;
// Below it, neighbours share their label far more often than chance would have it.
constexpr double kSortedScore = 0.5;

// The worst first; "bad", "warn", "note", "good".
enum class Level { bad, warn, note, good };
constexpr std::string_view kLevelNames[] = {"bad", "warn", "note", "good"};

struct Highlight {
  Level level = Level::note;
  std::string html;
};

class Highlights {
 public:
  void add(Level level, std::string html) { all_.push_back({level, std::move(html)}); }
  [[nodiscard]] std::string html() {
    std::stable_sort(all_.begin(), all_.end(), [](const Highlight& left, const Highlight& right) {
      return left.level < right.level;
    });
    std::string items;
    for (const Highlight& each : all_)
      items += "<li>" + message_box(kLevelNames[static_cast<std::size_t>(each.level)], each.html) +
               "</li>\n";
    return items.empty() ? items
                         : R"(<ul class="highlights">)"
                           "\n" +
                               items + "</ul>\n";
  }

 private:
  std::vector<Highlight> all_;
};

std::string link_to(std::string_view section, std::string_view text) {
  return fmt::format(R"(<a href="#{}">{}</a>)", section, text);
}

std::string counted_link(std::string_view section, std::uint64_t count, std::string_view one,
                         std::string_view many) {
  return link_to(section, format_counted(count, one, many));
}

std::string_view has_or_have(std::uint64_t count) { return count == 1 ? " has " : " have "; }

void add_lists(Highlights& to, const LeftOutFacts& facts) {
  for (const std::string& name : facts.damaged_lists)
    to.add(Level::bad, fmt::format("{} is {}: nothing that it lists is shown", html_name(name),
                                   link_to("integrity", "damaged")));
}

void add_integrity(Highlights& to, const IntegrityFacts& facts) {
  const std::uint64_t findings = facts.finding_count;
  if (findings > 0)
    to.add(Level::bad, counted_link("integrity", findings, "finding", "findings") +
                           " when the set was verified");
  if (!facts.met.empty())
    to.add(Level::bad, counted_link("integrity", facts.met.size(), "problem", "problems") +
                           " found while making this report");
  if (facts.state == VerifyState::sound)
    to.add(Level::good, link_to("integrity", "verified") + ": " +
                            format_counted(facts.samples, "sample", "samples") + ", nothing wrong");
  if (facts.state == VerifyState::not_asked && facts.met.empty())
    to.add(Level::note, link_to("integrity", "not verified") + ": only what was read was checked");
}

void add_classes(Highlights& to, const ClassFacts& facts) {
  if (facts.field.empty()) return;
  if (facts.empty_classes > 0)
    to.add(Level::warn,
           fmt::format("{}{}no samples",
                       counted_link("classes", facts.empty_classes, "class", "classes"),
                       has_or_have(facts.empty_classes)));
  if (facts.without_label > 0)
    to.add(Level::warn,
           fmt::format("{}{}a label that names no class",
                       counted_link("classes", facts.without_label, "sample", "samples"),
                       has_or_have(facts.without_label)));
  const bool is_uneven = facts.class_count > 1 && facts.smallest.count > 0 &&
                         facts.largest.count / facts.smallest.count >= kUnevenClasses;
  if (is_uneven)
    to.add(Level::warn,
           fmt::format("{}: {} has {}, {} has {}", link_to("classes", "uneven classes"),
                       class_html(facts.largest),
                       format_counted(facts.largest.count, "sample", "samples"),
                       class_html(facts.smallest), format_count(facts.smallest.count)));
}

void add_images(Highlights& to, const ReportFacts& facts) {
  for (const ContactSheet& sheet : facts.sheets) {
    if (sheet.kind == SheetKind::problem && !sheet.samples.empty())
      to.add(
          Level::warn,
          counted_link("samples", std::max<std::uint64_t>(sheet.of_samples, sheet.samples.size()),
                       "sample", "samples") +
              " that cannot be shown as a picture");
  }
  if (!facts.images) return;
  if (facts.images->relabelled > 0)
    to.add(Level::warn,
           counted_link("images", facts.images->relabelled, "repeated image", "repeated images") +
               " with another label than before");
  else if (facts.images->repeated && *facts.images->repeated > 0)
    to.add(Level::note,
           counted_link("images", *facts.images->repeated, "repeated image", "repeated images"));
}

void add_fields(Highlights& to, const ReportFacts& facts) {
  std::vector<std::string> constant;
  std::uint64_t nan_fields = 0;
  const auto look_at = [&](const FieldFacts& field, const std::string& name) {
    if (field.has_numbers && field.is_constant && field.values > 1) constant.push_back(name);
    if (field.nan_count + field.infinite_count > 0) ++nan_fields;
  };
  for (const FieldFacts& field : facts.fields) {
    look_at(field, field.name);
    for (const FieldFacts& column : field.columns) look_at(column, field.name + "." + column.name);
  }
  if (constant.size() == 1)
    to.add(Level::warn, fmt::format("{} {} has one value throughout", link_to("fields", "field"),
                                    html_name(constant.front())));
  if (constant.size() > 1)
    to.add(Level::warn, counted_link("fields", constant.size(), "field", "fields") +
                            " have one value throughout");
  if (nan_fields > 0)
    to.add(Level::warn, fmt::format("{}{}values that are NaN or infinite",
                                    counted_link("fields", nan_fields, "field", "fields"),
                                    has_or_have(nan_fields)));
}

std::string highlights_of(const ReportFacts& facts) {
  Highlights highlights;
  add_integrity(highlights, facts.integrity);
  add_lists(highlights, facts.left_out);
  add_classes(highlights, facts.classes);
  add_images(highlights, facts);
  add_fields(highlights, facts);
  if (facts.order.shuffle_score && *facts.order.shuffle_score < kSortedScore)
    highlights.add(Level::warn, link_to("order", "not shuffled") +
                                    (facts.order.verdict.empty() ? "" : ": ") +
                                    html_words(facts.order.verdict));
  if (facts.left_out.skipped > 0)
    highlights.add(Level::note,
                   counted_link("left-out", facts.left_out.skipped, "sample", "samples") +
                       " skipped when the set was made");
  for (const std::string& note : facts.notes) highlights.add(Level::note, html_words(note));
  return highlights.html();
}

std::string key_figures(const ReportFacts& facts) {
  std::vector<FactRow> rows = {{"Samples", format_count(facts.samples)}};
  if (!facts.classes.field.empty())
    rows.emplace_back("Classes", format_count(facts.classes.class_count));
  rows.emplace_back("Fields", facts.fields.empty() ? "" : format_count(facts.fields.size()));
  rows.emplace_back("Payload", format_size(facts.payload_bytes));
  rows.emplace_back("Shards", facts.shards.count > 0 ? format_count(facts.shards.count) : "");
  rows.emplace_back("Format", html_words(facts.format));
  return fact_list(rows, "key-figures");
}

}  // namespace

std::string name_of_dataset(const ReportFacts& facts) {
  std::string_view path = facts.path;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  return std::string(name.empty() || name == "." || name == ".." ? path : name);
}

std::string page_summary(const ReportFacts& facts) {
  const std::string name = name_of_dataset(facts);
  const std::string_view front = front_of_name(name, kNameInHeading);
  const std::string heading = html_name(front) + (front.size() < name.size() ? "…" : "");
  return fmt::format(R"(<header class="top">)"
                     "\n"
                     R"(<p class="kicker">shale report</p>)"
                     "\n<h1>{}</h1>\n"
                     R"(<p class="path"><code>{}</code></p>)"
                     "\n"
                     R"(<p class="what">{}</p>)"
                     "\n{}{}</header>\n",
                     heading, html_name(facts.path), html_words(facts.what), key_figures(facts),
                     highlights_of(facts));
}

}  // namespace shale
