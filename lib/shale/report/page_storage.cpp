#include "shale/report/page_storage.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/report/html_text.hpp"
#include "shale/report/svg_chart.hpp"

namespace shale {
namespace {

std::string repeated_words(const ImageFacts& images) {
  if (!images.repeated) return {};
  std::string words = format_count(*images.repeated);
  if (images.relabelled > 0)
    words += fmt::format(R"( <span class="quiet">{} with another label</span>)",
                         format_count(images.relabelled));
  return words;
}

std::string names_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "<code>" : ", <code>") + html_name(name) + "</code>";
  return text;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string shard_chart(const ShardsFacts& facts) {
  const std::uint64_t most = std::max<std::uint64_t>(1, facts.fullest.file_bytes);
  std::vector<ChartBar> bars;
  bars.reserve(facts.shards.size());
  for (const ShardFacts& shard : facts.shards)
    bars.push_back({share_of(shard.file_bytes, most),
                    fmt::format("{}: {}, {}", printable(shard.name), format_size(shard.file_bytes),
                                format_counted(shard.samples, "sample", "samples"))});
  const bool is_whole = facts.shards.size() >= facts.count;
  ChartFrame frame = {
      "shard-chart",
      is_whole ? "Bytes of each shard" : "Bytes of the first and the last hundred shards",
      fmt::format("{}; the largest has {}, the smallest {}.",
                  format_counted(facts.count, "shard", "shards"),
                  format_size(facts.fullest.file_bytes), format_size(facts.emptiest.file_bytes)),
      {},
      {},
      110};
  if (facts.shards.size() > 1)
    frame.across = {{0, printable(facts.shards.front().name)},
                    {1, printable(facts.shards.back().name)}};
  frame.up = {{1, format_size(most)}};
  if (facts.bound_bytes > 0 && facts.bound_bytes < most)
    frame.up.push_back({share_of(facts.bound_bytes, most), format_size(facts.bound_bytes)});
  return fmt::format(R"(<figure class="plot"><figcaption>{}</figcaption>)"
                     "\n{}</figure>\n",
                     html_words(frame.title), svg_bars(frame, bars));
}

std::string shard_table(const ShardsFacts& facts) {
  const std::uint64_t most = std::max<std::uint64_t>(1, facts.fullest.file_bytes);
  std::string rows;
  for (const ShardFacts& shard : facts.shards)
    rows += fmt::format(R"(<tr><th scope="row">{}</th><td class="number" data-value="{}">{}</td>)"
                        R"(<td class="number" data-value="{}">{}</td>)"
                        R"(<td class="bar-cell" aria-hidden="true">{}</td></tr>)"
                        "\n",
                        html_name(shard.name), shard.samples, format_count(shard.samples),
                        shard.file_bytes, format_size(shard.file_bytes),
                        svg_share(share_of(shard.file_bytes, most)));
  const std::string caption = facts.shards.size() >= facts.count
                                  ? "Every shard"
                                  : fmt::format("{} of {} shards, the first and the last",
                                                facts.shards.size(), format_count(facts.count));
  return details_of(
      html_words(caption),
      scroll_box(
          caption,
          fmt::format(
              R"(<table class="sortable"><caption class="spoken">{}</caption><thead><tr>)"
              R"(<th scope="col" class="words">Shard</th><th scope="col" class="number">)"
              R"(Samples</th><th scope="col" class="number">Bytes</th><td aria-hidden="true">)"
              "</td></tr></thead><tbody>\n{}</tbody></table>",
              html_words(caption), rows)));
}

std::string shard_with_bytes(const ShardFacts& shard) {
  return fmt::format(R"({} <span class="quiet">{}</span>)", format_size(shard.file_bytes),
                     html_name(shard.name));
}

// The labels of runs between the smallest and the largest of all; the smallest is below.
std::string order_chart(const OrderFacts& facts) {
  std::int64_t least = facts.runs.front().least;
  std::int64_t most = facts.runs.front().most;
  for (const OrderFacts::Run& run : facts.runs) {
    least = std::min(least, run.least);
    most = std::max(most, run.most);
  }
  const double width = static_cast<double>(most) - static_cast<double>(least);
  const auto level = [&](std::int64_t label) {
    return width > 0 ? (static_cast<double>(label) - static_cast<double>(least)) / width : 0.5;
  };
  ChartLine line;
  for (std::vector<double>* values : {&line.values, &line.low, &line.high})
    values->reserve(facts.runs.size());
  for (const OrderFacts::Run& run : facts.runs) {
    line.values.push_back(level(run.median));
    line.low.push_back(level(run.least));
    line.high.push_back(level(run.most));
  }
  ChartFrame frame = {
      "order-chart",
      "Labels from the first row to the last",
      fmt::format("For {} of rows, the range of its labels and their median. "
                  "Labels are {} to {}.",
                  facts.runs.size() == 1 ? std::string("one run")
                                         : fmt::format("each of {} equal runs", facts.runs.size()),
                  least, most),
      {{0, "first row"}, {1, "last row"}},
      {}};
  if (width > 0)
    frame.up = {{0, fmt::format("label {}", least)}, {1, fmt::format("label {}", most)}};
  return fmt::format(
      R"(<figure class="plot"><figcaption>{} <span class="quiet">)"
      "the band is their range, the line their median</span></figcaption>\n{}</figure>\n",
      html_words(frame.title), svg_line(frame, line));
}

}  // namespace

PageSection images_section(const ReportFacts& facts) {
  PageSection section = {"images", "Images", {}};
  if (!facts.images) return section;
  const ImageFacts& images = *facts.images;
  section.html =
      fact_list({{images.fields.size() == 1 ? "Field" : "Fields", names_of(images.fields)},
                 {"Odd images", images.odd_images ? format_count(*images.odd_images) : ""},
                 {"Repeated images", repeated_words(images)}});
  if (images.is_from_manifest)
    section.html += R"(<p class="scope">Counted by <code>convert</code> over all images.</p>)"
                    "\n";
  else
    section.html += scope_note(images.from);
  section.html +=
      R"(<div class="two">)"
      "\n" +
      histogram_figure("shorter-side", "Shorter side", images.shorter, "images") +
      histogram_figure("longer-side", "Longer side", images.longer, "images") +
      "</div>\n"
      R"(<div class="two">)"
      "\n" +
      count_table("Aspect ratios, from tall to wide", "Width : height", "Images", images.aspects) +
      "<div>\n" + count_table("Types", "Type", "Images", images.types) +
      count_table("Odd images by kind", "Kind", "Images", images.odd) +
      count_table("What image work changed", "Change", "Images", images.changed) +
      "</div>\n</div>\n";
  return section;
}

PageSection storage_section(const ReportFacts& facts) {
  PageSection section = {"storage", "Bytes and shards", {}};
  const ShardsFacts& shards = facts.shards;
  std::string bound;
  if (shards.bound_bytes > 0) bound = format_size(shards.bound_bytes);
  if (shards.bound_samples > 0)
    bound +=
        (bound.empty() ? "" : ", ") + format_counted(shards.bound_samples, "sample", "samples");
  const bool is_several = shards.count > 1;
  section.html =
      fact_list({{"Payload", format_size(facts.payload_bytes)},
                 {"Files", shards.file_bytes > 0 ? format_size(shards.file_bytes) : ""},
                 {"Shards", shards.count > 0 ? format_count(shards.count) : ""},
                 {"A shard holds at most", bound},
                 {"Largest shard", is_several ? shard_with_bytes(shards.fullest) : ""},
                 {"Smallest shard", is_several ? shard_with_bytes(shards.emptiest) : ""},
                 {"Smallest to largest",
                  is_several ? percent_text(shards.emptiest.file_bytes,
                                            std::max<std::uint64_t>(1, shards.fullest.file_bytes))
                             : ""}});
  std::string charts =
      histogram_figure("sample-bytes", "Bytes per sample", facts.sample_bytes, "samples");
  if (!charts.empty()) charts += scope_note(facts.sample_bytes.from);
  section.html += charts;
  if (is_several) section.html += shard_chart(shards) + shard_table(shards);
  return section;
}

PageSection order_section(const ReportFacts& facts) {
  const OrderFacts& order = facts.order;
  PageSection section = {"order", "Order of labels", {}};
  if (!order.shuffle_score && order.runs.empty()) return section;
  if (!order.verdict.empty())
    section.html += fmt::format("<p>{}</p>\n", html_words(sentence_of(order.verdict)));
  if (order.shuffle_score) {
    const std::string score = fmt::format("{:.2f}", *order.shuffle_score);
    section.html +=
        fmt::format(R"(<div class="score"><p>Shuffle score <strong>{}</strong></p>)"
                    "\n"
                    R"({}<p class="ends"><span>0: sorted by class</span><span>)"
                    "1: as mixed as by chance</span></p></div>\n",
                    score,
                    svg_scale(fmt::format("Shuffle score {} on a scale from 0 to 1", score),
                              *order.shuffle_score));
    section.html += fmt::format(
        R"(<p class="scope">{} of {} neighbouring rows have different labels; by chance )"
        "it would be {:.1f} % of them.</p>\n",
        format_count(order.differing), format_count(order.neighbours),
        100 * order.expected_differing);
  }
  if (!order.runs.empty()) section.html += order_chart(order);
  section.html += scope_note(order.from, "rows");
  return section;
}

}  // namespace shale
