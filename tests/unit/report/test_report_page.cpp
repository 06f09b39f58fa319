#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "shale/report/page_template.hpp"
#include "shale/report/report_page.hpp"
#include "shale/report/write_report.hpp"

#include "report_samples.hpp"
#include "support/xml_check.hpp"

using namespace shale;
using shale::test::facts_of_everything;
using shale::test::facts_of_nothing;
using shale::test::many_classes;
using shale::test::smallest_png;
using shale::test::XmlCheck;

namespace {

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// What the page says, with its own style, script and images taken out.
std::string words_of(std::string page) {
  for (const std::string_view own : {page_file("page.css").text, page_file("page.js").text})
    page.erase(page.find(own), own.size());
  return page;
}

}  // namespace

TEST_CASE("report page: the page of a set with everything is well-formed XML") {
  CHECK(XmlCheck::problem_of(report_page(facts_of_everything("word"))) == "");
}

TEST_CASE("report page: the page of nothing is well-formed, and says so") {
  const std::string page = report_page(facts_of_nothing());
  CHECK(XmlCheck::problem_of(page) == "");
  CHECK(page.find("This dataset has no samples") != std::string::npos);
}

TEST_CASE("report page: every word of the facts is somewhere on the page") {
  const std::string page = report_page(facts_of_everything("~wording-"));
  // The facts number their words without a gap: none is missing before the last that is shown.
  int last = 0;
  for (int i = 0; i < 1000; ++i)
    if (page.find(fmt::format("~wording-{:04}", i)) != std::string::npos) last = i;
  CHECK(last > 80);
  for (int i = 0; i <= last; ++i) {
    CAPTURE(i);
    CHECK(page.find(fmt::format("~wording-{:04}", i)) != std::string::npos);
  }
}

TEST_CASE("report page: hostile words in every place are shown and never interpreted") {
  struct Row {
    std::string word, shown;
  };
  const Row rows[] = {
      {"</title></style></script><script>window.pwned=1</script>",
       "&lt;/title&gt;&lt;/style&gt;&lt;/script&gt;&lt;script&gt;window.pwned=1&lt;/script&gt;"},
      {"\"><img src=x onerror=window.pwned=1>",
       "&quot;&gt;&lt;img src=x onerror=window.pwned=1&gt;"},
      {"' onmouseover='window.pwned=1", "&#39; onmouseover=&#39;window.pwned=1"},
      {"]]>--><![CDATA[<!--", "]]&gt;--&gt;&lt;![CDATA[&lt;!--"},
      {"&lt;b&gt;&#0;", "&amp;lt;b&amp;gt;&amp;#0;"}};
  const std::string plain = words_of(report_page(facts_of_everything("word")));
  for (const Row& row : rows) {
    CAPTURE(row.word);
    const std::string page = words_of(report_page(facts_of_everything(row.word)));
    CHECK(XmlCheck::problem_of(page) == "");
    CHECK(times(page, row.shown) > 100);
    CHECK(page.find(row.word) == std::string::npos);
    // The words bring no tag and no attribute: there are as many as with harmless ones.
    CHECK(times(page, "<") == times(plain, "<"));
    CHECK(times(page, "=\"") == times(plain, "=\""));
  }
}

TEST_CASE("report page: newlines, text from right to left and invalid UTF-8 are shown") {
  std::string long_name(255, 'x');
  for (const std::string& word :
       {std::string("a\r\nb\x1b[31m"), std::string("\u202Egpj.\u05D0"),
        std::string("\xff\xfe\xc0\x80"), std::string("\uFFFF"), long_name}) {
    CAPTURE(word);
    CHECK(XmlCheck::problem_of(report_page(facts_of_everything(word))) == "");
  }
  const std::string page = report_page(facts_of_everything("\u05D0"));
  CHECK(page.find("<bdi>\u05D0") != std::string::npos);
}

TEST_CASE("report page: the same facts give the same bytes") {
  CHECK(report_page(facts_of_everything("a")) == report_page(facts_of_everything("a")));
}

TEST_CASE("report page: the marker stands at its beginning, and the policy soon after") {
  const std::string page = report_page(facts_of_everything("a"));
  CHECK(page.starts_with(kPageBegin));
  CHECK(page.find("default-src 'none'; img-src data:") < 1024);
  CHECK(page.find(fmt::format("script-src '{}'", page_file("page.js").hash)) < 1024);
  CHECK(page.find("<script>") == page.rfind("<script"));
  // Nothing but the policy's style sheet styles: no attribute would be obeyed.
  CHECK(words_of(page).find(" style=") == std::string::npos);
}

TEST_CASE("report page: style and script are the same in HTML and XML") {
  for (const std::string_view own : {page_file("page.css").text, page_file("page.js").text})
    CHECK(own.find_first_of("<&") == std::string_view::npos);
}

TEST_CASE("report page: a link leads to a place on the page that exists, and ids are unique") {
  const std::string page = words_of(report_page(facts_of_everything("a")));
  std::size_t links = 0;
  for (std::size_t at = page.find("href=\"#"); at != std::string::npos;
       at = page.find("href=\"#", at + 1)) {
    const std::size_t begin = at + 7;
    const std::string id = page.substr(begin, page.find('"', begin) - begin);
    CAPTURE(id);
    CHECK(times(page, fmt::format(" id=\"{}\"", id)) == 1);
    ++links;
  }
  CHECK(links > 20);
  CHECK(times(page, "href=") == links);  // and none leads elsewhere
}

TEST_CASE("report page: 10^5 classes and 300 thumbnails stay within 5 MB") {
  ReportFacts facts = facts_of_everything("a");
  facts.json["classes"] = many_classes(100'000, "a class with a name of some length ");
  Json& samples = facts.json["sheets"][0]["samples"];
  Json sample = samples[0];
  samples.clear();
  for (std::uint64_t row = 0; row < 300; ++row) {
    sample["row"] = row;
    samples.push_back(sample);
    ReportSample& shown = facts.pictures.samples[row] = {};
    shown.thumbnail = smallest_png();
    shown.thumbnail.bytes.resize(8000);
  }

  const std::string page = report_page(facts);

  CHECK(XmlCheck::problem_of(page) == "");
  CHECK(page.size() <= 5'000'000);
  CHECK(page.find("label 99\"") == std::string::npos);
  CHECK(page.find(">a class with a name of some length 99<") != std::string::npos);
  CHECK(page.find(">a class with a name of some length 99900<") != std::string::npos);
  CHECK(page.find(">a class with a name of some length 9999<") != std::string::npos);
  CHECK(page.find("And 90,000 more") != std::string::npos);
}

TEST_CASE("report page: a list of long names that are not text is cut, and what is left counted") {
  ReportFacts facts = facts_of_everything("a");
  facts.json["classes"] = many_classes(10'000, std::string(250, '\xff'));
  const std::string page = report_page(facts);
  CHECK(XmlCheck::problem_of(page) == "");
  CHECK(page.size() <= 3'000'000);
}

TEST_CASE("report page: a damaged image shows as such, with the reason") {
  ReportFacts facts = facts_of_nothing();
  facts.json["sheets"] = Json::parse(R"json([{"kind": "problem", "caption": "damaged samples",
    "samples": [{"key": "torn.jpg", "row": 0, "bytes": 9, "damaged": true,
                 "problem": "does not decode: the scan ends early"}]}])json");
  const std::string page = report_page(facts);
  CHECK(page.find("no-picture damaged") != std::string::npos);
  CHECK(page.find("does not decode: the scan ends early") != std::string::npos);
}

TEST_CASE("report page: what deserves a look is said at the top, the worst first") {
  const std::string page = report_page(facts_of_everything("a"));
  const std::size_t bad = page.find("message bad");
  const std::size_t warn = page.find("message warn");
  CHECK(bad < warn);
  CHECK(warn < page.find("<main"));
  CHECK(page.find("1 class</a> has no samples") < page.find("<main"));
}

TEST_CASE("report page: a histogram of one bar is a sentence") {
  ReportFacts facts = facts_of_nothing();
  facts.json["sample_bytes"] = Json::parse(
      R"json({"bars": [[2048, 2048, 50]], "unit": "bytes", "from": {"looked_at": 50, "of": 50}})json");
  const std::string page = report_page(facts);
  CHECK(page.find("<strong>Bytes per sample</strong>: 50 samples, all of them 2 KiB") !=
        std::string::npos);
  CHECK(page.find("id=\"sample-bytes-title\"") == std::string::npos);
}

// For tests/interop/test_report_page.py and for who works on the page.
TEST_CASE("report page: written to a file on request") {
  const char* path = std::getenv("SHALE_REPORT_PAGE_TO");
  if (path == nullptr) return;
  const char* word = std::getenv("SHALE_REPORT_PAGE_WORD");
  std::ofstream(path, std::ios::binary)
      << report_page(facts_of_everything(word == nullptr ? "word" : word));
}
