#include "shale/report/page_classes.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/report/html_text.hpp"
#include "shale/report/svg_chart.hpp"

namespace shale {
namespace {

// The compact list: names are cut, and no list makes the page too large to be opened.
constexpr std::size_t kListedName = 60;
constexpr std::size_t kListBytes = 1U << 20U;

std::uint64_t most_samples(const ClassFacts& facts) {
  std::uint64_t most = std::max<std::uint64_t>(1, facts.largest.count);
  for (const ClassCount& each : facts.classes) most = std::max(most, each.count);
  return most;
}

std::string class_words_of(const ClassCount& each) {
  return each.class_name.empty()
             ? fmt::format("label {}", each.label)
             : fmt::format("{} (label {})", printable(each.class_name), each.label);
}

std::string class_chart(const ClassFacts& facts) {
  const auto most = static_cast<double>(most_samples(facts));
  std::vector<ChartBar> bars;
  bars.reserve(facts.classes.size());
  for (const ClassCount& each : facts.classes)
    bars.push_back({static_cast<double>(each.count) / most,
                    fmt::format("{}: {}", class_words_of(each),
                                format_counted(each.count, "sample", "samples"))});
  const std::string ends =
      facts.largest.count == 0
          ? std::string("none has samples")
          : fmt::format("the largest is {} with {}, the smallest {} with {}",
                        class_words_of(facts.largest),
                        format_counted(facts.largest.count, "sample", "samples"),
                        class_words_of(facts.smallest), format_count(facts.smallest.count));
  ChartFrame frame = {
      "class-chart",
      "Samples per class, by label",
      fmt::format("{}; {}.", format_counted(facts.class_count, "class", "classes"), ends),
      {},
      {}};
  const auto count = static_cast<double>(facts.classes.size());
  for (const std::size_t at : {std::size_t{0}, facts.classes.size() / 2, facts.classes.size() - 1})
    if (frame.across.empty() || facts.classes.size() > 2)
      frame.across.push_back({(static_cast<double>(at) + 0.5) / count,
                              fmt::format("label {}", facts.classes[at].label)});
  for (const double tick : round_ticks(most, 3))
    if (tick > 0) frame.up.push_back({tick / most, format_count(static_cast<std::uint64_t>(tick))});
  return fmt::format(R"(<figure class="plot"><figcaption>{}</figcaption>)"
                     "\n{}</figure>\n",
                     html_words(frame.title), svg_bars(frame, bars));
}

std::string class_row(const ClassCount& each, std::uint64_t most, std::uint64_t all) {
  return fmt::format(
      R"(<tr data-class="{} {}"><td class="number">{}</td><th scope="row">{}</th>)"
      R"(<td class="number" data-value="{}">{}</td><td class="number" data-value="{}">)"
      R"({}</td><td class="bar-cell" aria-hidden="true">{}</td></tr>)"
      "\n",
      html_text(each.class_name), each.label, each.label,
      each.class_name.empty() ? R"(<span class="quiet">no name</span>)"
                              : html_name(each.class_name),
      each.count, format_count(each.count), each.count, percent_text(each.count, all),
      svg_share(static_cast<double>(each.count) / static_cast<double>(most)));
}

std::string class_table(std::string_view caption, std::span<const ClassCount> classes,
                        const ClassFacts& facts) {
  std::string rows;
  for (const ClassCount& each : classes)
    rows += class_row(each, most_samples(facts), facts.from.looked_at);
  return scroll_box(
      caption,
      fmt::format(R"(<table class="sortable"><caption>{}</caption><thead><tr>)"
                  R"(<th scope="col" class="number">Label</th><th scope="col" class="words">)"
                  R"(Class</th><th scope="col" class="number">Samples</th>)"
                  R"(<th scope="col" class="number">Share</th><td aria-hidden="true"></td></tr>)"
                  "</thead><tbody>\n{}</tbody></table>",
                  html_words(caption), rows));
}

std::string class_list(const ClassFacts& facts) {
  std::string items;
  std::size_t listed = 0;
  for (const ClassCount& each : facts.list) {
    if (items.size() > kListBytes) break;
    const std::string_view front = front_of_name(each.class_name, kListedName);
    items += fmt::format(
        "<li>{}{} <b>{}</b></li>\n",
        each.class_name.empty() ? fmt::format("label {}", each.label) : html_name(front),
        front.size() < each.class_name.size() ? "…" : "", format_count(each.count));
    ++listed;
  }
  const std::string rest =
      listed >= facts.class_count
          ? ""
          : fmt::format(R"(<p class="scope">And {} more; <code>shale report --json</code>)"
                        " lists up to 10,000 with their whole names.</p>\n",
                        format_count(facts.class_count - listed));
  return details_of(fmt::format("{} classes, the largest first", format_count(listed)),
                    scroll_box("Classes, the largest first", R"(<ul class="class-list">)"
                                                             "\n" +
                                                                 items + "</ul>\n" + rest));
}

std::string balance_of(const ClassFacts& facts) {
  if (facts.smallest.count == 0 || facts.class_count < 2) return {};
  return fmt::format("{} : 1",
                     number_text(std::round(10 * static_cast<double>(facts.largest.count) /
                                            static_cast<double>(facts.smallest.count)) /
                                 10));
}

}  // namespace

std::string class_html(const ClassCount& each) {
  return each.class_name.empty() ? fmt::format("label {}", each.label) : html_name(each.class_name);
}

PageSection classes_section(const ReportFacts& facts) {
  const ClassFacts& classes = facts.classes;
  PageSection section = {"classes", "Classes", {}};
  if (classes.field.empty() || classes.class_count == 0) return section;
  const auto with_count = [](const ClassCount& each) {
    return fmt::format(R"({} <span class="quiet">{}</span>)", class_html(each),
                       format_counted(each.count, "sample", "samples"));
  };
  section.html =
      fact_list({{"Classes", format_count(classes.class_count)},
                 {"Largest", classes.largest.count > 0 ? with_count(classes.largest) : ""},
                 {"Smallest", classes.smallest.count > 0 ? with_count(classes.smallest) : ""},
                 {"Largest to smallest", balance_of(classes)},
                 {"Without samples",
                  classes.empty_classes > 0 ? format_count(classes.empty_classes) : ""},
                 {"Samples of no class",
                  classes.without_label > 0 ? format_count(classes.without_label) : ""},
                 {"Label field", "<code>" + html_name(classes.field) + "</code>"}}) +
      scope_note(classes.from);
  const bool is_whole = classes.classes.size() >= classes.class_count;
  if (is_whole) {
    if (classes.classes.size() > 1) section.html += class_chart(classes);
    section.html += class_table("Every class", classes.classes, classes);
    return section;
  }
  section.html += histogram_figure("class-sizes", "Classes by their number of samples",
                                   classes.sizes, "classes");
  const std::span<const ClassCount> all = classes.classes;
  const std::size_t half = (all.size() + 1) / 2;
  section.html += R"(<div class="two">)"
                  "\n";
  section.html += class_table(fmt::format("The first {} classes", half), all.first(half), classes);
  section.html += class_table(fmt::format("The last {} classes", all.size() - half),
                              all.subspan(half), classes);
  section.html += "</div>\n";
  if (!classes.list.empty()) section.html += class_list(classes);
  return section;
}

}  // namespace shale
