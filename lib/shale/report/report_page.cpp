#include "shale/report/report_page.hpp"

#include <algorithm>

#include "shale/report/page_template.hpp"
#include "shale/report/write_report.hpp"

// The page is HTML and XML at once: every element is closed, every attribute quoted, no named
// entities but those of XML. Its Content-Security-Policy allows one style sheet and one script by
// their hashes, and images within the page; so even markup that was not escaped could run nothing
// and fetch nothing.

namespace shale {
namespace {

// From here on a set counts as uneven: the largest class has that many times the samples of the
// smallest.
constexpr std::uint64_t kUnevenClasses = 10;
// Below it, neighbours share their label far more often than chance would have it.
constexpr double kSortedScore = 0.5;

bool is_any(const Json& list, bool (*is_so)(const Json&)) {
  return std::any_of(list.begin(), list.end(), is_so);
}

// Which sections have anything to show.
Json shown_parts(const Json& facts) {
  const Json& sheets = facts["sheets"];
  const Json& left_out = facts["left_out"];
  const Json& origin = facts["origin"];
  const bool has_sheets =
      is_any(sheets, [](const Json& sheet) { return !sheet["samples"].empty(); });
  const bool has_origin = std::any_of(origin.begin(), origin.end(), [](const Json& value) {
    return value.is_string() ? value != "" : value.is_number() ? value > 0 : !value.empty();
  });
  return {{"sheets", has_sheets},
          {"masks", is_any(sheets,
                           [](const Json& sheet) {
                             return is_any(sheet["samples"], [](const Json& sample) {
                               return sample.contains("masks");
                             });
                           })},
          {"samples", has_sheets || facts["samples"] == 0},
          {"classes", facts.contains("classes") && count_in(facts["classes"], "count") > 0},
          {"images", facts.contains("images")},
          {"fields", !facts["fields"].empty()},
          {"order", facts["order"].contains("shuffle_score") || !facts["order"]["runs"].empty()},
          {"left-out", count_in(left_out, "skipped") + count_in(left_out, "ignored") > 0 ||
                           left_out.contains("damaged_lists")},
          {"origin", has_origin},
          {"loading", !facts["snippets"].empty()}};
}

// Fields and columns of which something is to be said at the top.
void note_fields(Json& page, const Json& facts) {
  std::uint64_t constant = 0, with_gaps = 0;
  const auto look_at = [&](const Json& field, const std::string& name) {
    if (field.value("constant", false) && count_in(field, "values") > 1 && ++constant == 1)
      page["constant_field"] = name;
    if (count_in(field, "nan") + count_in(field, "infinite") > 0) ++with_gaps;
  };
  for (const Json& field : facts["fields"]) {
    const auto name = field["name"].get<std::string>();
    look_at(field, name);
    if (!field.contains("columns")) continue;
    for (const Json& column : field["columns"])
      look_at(column, name + "." + column["name"].get<std::string>());
  }
  page["constant"] = constant;
  page["with_gaps"] = with_gaps;
}

// What the templates ask for below `page.`: what is neither a fact nor a matter of how it looks.
Json page_facts(const Json& facts) {
  const Json& integrity = facts["integrity"];
  const std::uint64_t findings = count_in(integrity, "findings");
  Json page = {{"style", page_file("page.css").text},
               {"style_hash", page_file("page.css").hash},
               {"script", page_file("page.js").text},
               {"script_hash", page_file("page.js").hash},
               {"has", shown_parts(facts)}};
  const std::size_t listed = integrity.value("first_findings", Json::array()).size();
  page["more_findings"] = listed > 0 && findings > listed;
  if (facts.contains("classes") && facts["classes"].contains("largest")) {
    const Json& classes = facts["classes"];
    page["are_uneven"] =
        count_in(classes, "count") > 1 &&
        count_in(classes["largest"], "samples") / count_in(classes["smallest"], "samples") >=
            kUnevenClasses;
  }
  std::uint64_t unshown = 0;
  for (const Json& sheet : facts["sheets"])
    if (sheet["kind"] == "problem")
      unshown += std::max<std::uint64_t>(count_in(sheet, "of_samples"), sheet["samples"].size());
  page["unshown"] = unshown;
  page["are_sorted"] = facts["order"].value("shuffle_score", 1.0) < kSortedScore;
  note_fields(page, facts);
  return page;
}

}  // namespace

std::string report_page(const ReportFacts& facts) {
  return sealed(fill_template("page", facts.json, page_facts(facts.json), facts.pictures));
}

}  // namespace shale
