#include "shale/report/page_origin.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "shale/base/size_text.hpp"
#include "shale/report/html_text.hpp"

namespace shale {
namespace {

// Names of files in findings may be long; a page of them is no use to anybody.
constexpr std::size_t kShownFindings = 200;

std::string reason_table(std::string_view caption, std::string_view file,
                         const std::vector<LeftOut>& reasons) {
  if (reasons.empty()) return {};
  std::string rows;
  for (const LeftOut& reason : reasons) {
    std::string examples;
    for (const std::string& example : reason.examples)
      examples += (examples.empty() ? "" : "<br/>") + html_name(example);
    rows += fmt::format(R"(<tr><th scope="row">{}</th><td class="number">{}</td><td>{}</td></tr>)"
                        "\n",
                        html_words(reason.reason), format_count(reason.count), examples);
  }
  const std::string where =
      file.empty() ? "" : fmt::format("; all of them are in <code>{}</code>", html_name(file));
  return scroll_box(
      caption,
      fmt::format(
          R"(<table><caption>{}{}</caption><thead><tr><th scope="col">Reason</th>)"
          R"(<th scope="col" class="number">Count</th><th scope="col">For example</th></tr>)"
          "</thead><tbody>\n{}</tbody></table>",
          html_words(caption), where, rows));
}

std::string place_of(const Finding& finding) {
  std::string place = finding.file.empty() ? html_name(finding.shard) : html_name(finding.file);
  if (finding.offset) place += fmt::format("<br/>byte {}", format_count(*finding.offset));
  if (finding.row) place += fmt::format("<br/>row {}", format_count(*finding.row));
  return place;
}

std::string finding_row(const Finding& finding) {
  std::string fact = html_words(finding.message);
  if (!finding.field.empty()) fact = fmt::format("field {}: {}", html_name(finding.field), fact);
  if (!finding.found.empty() || !finding.expected.empty())
    fact += fmt::format(R"(<br/><span class="quiet">found {}, expected {}</span>)",
                        html_name(finding.found), html_name(finding.expected));
  return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", place_of(finding),
                     finding.sample ? html_name(finding.sample->key) : "", fact);
}

std::string finding_table(std::string_view caption, const std::vector<Finding>& findings) {
  if (findings.empty()) return {};
  std::string rows;
  const std::size_t shown = std::min(findings.size(), kShownFindings);
  for (std::size_t i = 0; i < shown; ++i) rows += finding_row(findings[i]);
  const std::string title =
      shown < findings.size()
          ? fmt::format("{}: the first {} of {}", caption, shown, format_count(findings.size()))
          : std::string(caption);
  return scroll_box(
      caption,
      fmt::format(
          R"(<table class="findings-table"><caption>{}</caption><thead><tr><th scope="col">)"
          R"(Where</th><th scope="col">Sample</th><th scope="col">What is wrong</th></tr>)"
          "</thead><tbody>\n{}</tbody></table>",
          html_words(title), rows));
}

std::string state_message(const IntegrityFacts& facts) {
  const std::string proved =
      fmt::format("{}, {} and {}", format_counted(facts.shards, "shard", "shards"),
                  format_counted(facts.samples, "sample", "samples"), format_size(facts.bytes));
  switch (facts.state) {
    case VerifyState::sound:
      return message_box("good", fmt::format("verified: {}, nothing wrong.", proved));
    case VerifyState::damaged:
      return message_box(
          "bad", fmt::format("{} in {}.",
                             format_counted(facts.finding_count, "finding", "findings"), proved));
    case VerifyState::unproven:
      return message_box("warn", "nothing in this file proves its bytes.");
    case VerifyState::not_asked:
      break;
  }
  return message_box("note",
                     "this report was made without <code>--verify</code>: only what it read "
                     "was checked.");
}

std::string table_of(std::string_view caption, std::string_view name_head,
                     std::string_view value_head, const std::vector<NamedText>& rows) {
  if (rows.empty()) return {};
  std::string body;
  for (const auto& [name, value] : rows)
    body += fmt::format(R"(<tr><th scope="row"><code>{}</code></th><td>{}</td></tr>)"
                        "\n",
                        html_name(name), html_name(value));
  return fmt::format(
      R"(<table><caption>{}</caption><thead><tr><th scope="col">{}</th><th scope="col">)"
      "{}</th></tr></thead><tbody>\n{}</tbody></table>\n",
      html_words(caption), html_words(name_head), html_words(value_head), body);
}

std::string runs_table(const std::vector<RunFacts>& runs) {
  if (runs.empty()) return {};
  std::string rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::string options;
    for (const auto& [name, value] : runs[i].options)
      options += fmt::format("{}<code>{}={}</code>", options.empty() ? "" : " ", html_name(name),
                             html_name(value));
    rows += fmt::format(R"(<tr><th scope="row">{}</th><td>{}</td><td class="number">{}</td>)"
                        R"(<td class="number">{}</td><td>{}</td></tr>)"
                        "\n",
                        i + 1, html_words(runs[i].source_kind), format_count(runs[i].samples),
                        format_count(runs[i].shards), options);
  }
  return scroll_box(
      "Runs that wrote it",
      fmt::format(
          R"(<table><caption>Runs that wrote it</caption><thead><tr><th scope="col">)"
          R"(Run</th><th scope="col">Source</th><th scope="col" class="number">Samples</th>)"
          R"(<th scope="col" class="number">Shards</th><th scope="col">Options</th></tr>)"
          "</thead><tbody>\n{}</tbody></table>",
          rows));
}

}  // namespace

PageSection left_out_section(const ReportFacts& facts) {
  const LeftOutFacts& left_out = facts.left_out;
  PageSection section = {"left-out", "Left out", {}};
  if (left_out.skipped == 0 && left_out.ignored == 0 && left_out.damaged_lists.empty())
    return section;
  for (const std::string& name : left_out.damaged_lists)
    section.html += message_box(
        "bad", fmt::format("<code>{}</code>: nothing that it lists is shown.", html_name(name)));
  section.html += fact_list({{"Samples skipped", format_count(left_out.skipped)},
                             {"Files that are not samples", format_count(left_out.ignored)}}) +
                  reason_table("Skipped, by reason", left_out.skipped_file, left_out.skipped_by) +
                  reason_table("Ignored, by reason", left_out.ignored_file, left_out.ignored_by);
  return section;
}

PageSection integrity_section(const ReportFacts& facts) {
  const IntegrityFacts& integrity = facts.integrity;
  PageSection section = {"integrity", "Integrity", state_message(integrity)};
  for (const std::string& note : integrity.notes)
    section.html += fmt::format("<p>{}</p>\n", html_words(note));
  section.html += finding_table("Found while making this report", integrity.met);
  section.html += finding_table("Found by verifying", integrity.findings);
  if (integrity.finding_count > integrity.findings.size() && !integrity.findings.empty())
    section.html += fmt::format(R"(<p class="scope">There are {} findings in all.</p>)"
                                "\n",
                                format_count(integrity.finding_count));
  if (!integrity.command.empty())
    section.html += fmt::format(
        "<p>To prove more:</p>\n"
        R"(<pre class="code" tabindex="0"><code>{}</code></pre>)"
        "\n",
        html_lines(integrity.command));
  return section;
}

PageSection origin_section(const ReportFacts& facts) {
  const OriginFacts& origin = facts.origin;
  PageSection section = {"origin", "How it was made", {}};
  section.html = fact_list(
      {{"Written by", html_words(origin.generator)},
       {"From", html_words(origin.source_kind)},
       {"Samples of the source",
        origin.source_samples > 0 ? format_count(origin.source_samples) : ""},
       {"Bytes of the source", origin.source_bytes > 0 ? format_size(origin.source_bytes) : ""},
       {"Part", html_words(origin.part)},
       {"Content digest", origin.content_digest.empty()
                              ? ""
                              : "<code>" + html_words(origin.content_digest) + "</code>"}});
  section.html += table_of("Options that shaped the bytes", "Option", "Value", origin.options) +
                  table_of("Image work", "Field", "What was done", origin.transforms) +
                  runs_table(origin.runs);
  return section;
}

PageSection loading_section(const ReportFacts& facts) {
  PageSection section = {"loading", "Load it like this", {}};
  for (const Snippet& snippet : facts.snippets)
    section.html += fmt::format(R"(<div class="snippet"><h3>{} <span class="quiet">{}</span></h3>)"
                                "\n"
                                R"(<pre class="code" tabindex="0"><code>{}</code></pre></div>)"
                                "\n",
                                html_words(snippet.title), html_words(snippet.language),
                                html_lines(snippet.code));
  return section;
}

}  // namespace shale
