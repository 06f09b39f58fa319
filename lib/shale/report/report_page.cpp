#include "shale/report/report_page.hpp"

#include <fmt/format.h>

#include "shale/report/html_text.hpp"
#include "shale/report/page_classes.hpp"
#include "shale/report/page_fields.hpp"
#include "shale/report/page_origin.hpp"
#include "shale/report/page_seal.hpp"
#include "shale/report/page_sheets.hpp"
#include "shale/report/page_storage.hpp"
#include "shale/report/page_style.hpp"
#include "shale/report/page_summary.hpp"

// The page is HTML and XML at once: every element is closed, every attribute quoted, no named
// entities but those of XML. Its Content-Security-Policy allows one style sheet and one script by
// their hashes, and images within the page; so even markup that was not escaped could run nothing
// and fetch nothing.

namespace shale {
namespace {

std::string head_of(const ReportFacts& facts) {
  return fmt::format(
      "{}"
      R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; )"
      R"(img-src data:; style-src '{}'; script-src '{}'; base-uri 'none'; form-action )"
      R"('none'"/>)"
      "\n"
      R"(<meta name="viewport" content="width=device-width, initial-scale=1"/>)"
      "\n"
      R"(<meta name="color-scheme" content="light dark"/>)"
      "\n<title>{} · shale report</title>\n<style>{}</style>\n</head>\n",
      kPageBegin, page_style_hash(), page_script_hash(), html_text(name_of_dataset(facts)),
      page_style());
}

std::vector<PageSection> sections_of(const ReportFacts& facts) {
  return {sheets_section(facts),   classes_section(facts),   images_section(facts),
          fields_section(facts),   storage_section(facts),   order_section(facts),
          left_out_section(facts), integrity_section(facts), origin_section(facts),
          loading_section(facts)};
}

std::string footer_of(const ReportFacts& facts) {
  std::string options;
  for (const auto& [name, value] : facts.options)
    options += fmt::format("{}{} {}", options.empty() ? ", with " : ", ", html_words(name),
                           html_words(value));
  return fmt::format("<footer>\n<p>Made by {}{}. This page needs no network.</p>\n</footer>\n",
                     html_words(facts.generator), options);
}

}  // namespace

std::string report_page(const ReportFacts& facts) {
  std::string lines;
  std::string body;
  for (const PageSection& section : sections_of(facts)) {
    if (section.html.empty()) continue;
    lines += fmt::format(R"(<li><a href="#{}">{}</a></li>)"
                         "\n",
                         section.id, section.title);
    body += fmt::format(R"(<section id="{}" aria-labelledby="{}-head">)"
                        "\n"
                        R"(<h2 id="{}-head">{}</h2>)"
                        "\n{}</section>\n",
                        section.id, section.id, section.id, section.title, section.html);
  }
  return sealed(fmt::format(
      "{}<body>\n"
      R"(<a class="skip" href="#main">Skip to the samples</a>)"
      "\n"
      R"({}<nav class="sections" aria-label="Sections">)"
      "\n<ul>\n{}</ul>\n</nav>\n"
      R"(<main id="main">)"
      "\n{}</main>\n{}<script>{}</script>\n</body>\n</html>\n",
      head_of(facts), page_summary(facts), lines, body, footer_of(facts), page_script()));
}

}  // namespace shale
