#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "shale/base/error.hpp"
#include "shale/report/write_report.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

const std::string kPage = sealed(std::string(kPageBegin) + "one\n");
const std::string kOther = sealed(std::string(kPageBegin) + "two\n");

Code code_of(const ReportPlace& place, const std::string& page = kPage) {
  try {
    write_report(place, page);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("nothing was refused");
  return Code::bug;
}

TEST_CASE("write report: a page is written, and nothing is left beside it") {
  const TempDir dir;
  const std::string path = dir.path() + "/report.html";
  write_report({.output = path, .inputs = {dir.path() + "/set.npy"}}, kPage);
  CHECK(read_text(path) == kPage);
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("write report: a page that stands is replaced only if asked for") {
  const TempDir dir;
  ReportPlace place{.output = dir.path() + "/report.html", .inputs = {dir.path() + "/set.npy"}};
  write_report(place, kPage);
  CHECK(code_of(place, kOther) == Code::exists);
  CHECK(read_text(place.output) == kPage);
  place.overwrites = true;
  write_report(place, kOther);
  CHECK(read_text(place.output) == kOther);
}

TEST_CASE("write report: what is not a report is never replaced") {
  const TempDir dir;
  const ReportPlace place{.output = dir.path() + "/report.html",
                          .inputs = {dir.path() + "/set.npy"},
                          .overwrites = true};
  SUBCASE("a file of somebody else") { write_file(place.output, "<html>mine</html>"); }
  SUBCASE("an empty file") { write_file(place.output, ""); }
  SUBCASE("a page behind something else") { write_file(place.output, " " + kPage); }
  SUBCASE("a page by hand that has the marker") {
    write_file(place.output, std::string(kPageBegin) + "mine");
  }
  SUBCASE("a page that was changed") {
    std::string changed = kPage;
    changed[kPageBegin.size()] = 'O';
    write_file(place.output, changed);
  }
  SUBCASE("a page with more behind it") { write_file(place.output, kPage + "<!-- mine -->\n"); }
  SUBCASE("a page that was cut off") {
    write_file(place.output, kPage.substr(0, kPage.size() - 1));
  }
  SUBCASE("a folder") { fs::create_directory(place.output); }
  SUBCASE("a link to a report") {
    write_file(dir.path() + "/real.html", kPage);
    fs::create_symlink("real.html", place.output);
  }
  CHECK(code_of(place) == Code::exists);
}

std::string words_of_refusal(const ReportPlace& place) {
  try {
    write_report(place, kPage);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("write report: what stands at the output is called by its name") {
  const TempDir dir;
  const ReportPlace place{.output = dir.path() + "/report.html",
                          .inputs = {dir.path() + "/set.npy"},
                          .overwrites = true};
  std::string name;
  SUBCASE("a link") {
    fs::create_symlink("nowhere", place.output);
    name = "is a symbolic link";
  }
  SUBCASE("a folder") {
    fs::create_directory(place.output);
    name = "is a folder";
  }
  SUBCASE("a FIFO") {
    REQUIRE(::mkfifo(place.output.c_str(), 0600) == 0);
    name = "is a FIFO";
  }
  SUBCASE("a page that was changed") {
    write_file(place.output, kPage.substr(0, kPage.size() - 1));
    name = "is a report that was changed";
  }
  const std::string words = words_of_refusal(place);
  CHECK(words.find(place.output + ": " + name) != std::string::npos);
}

TEST_CASE("write report: messages name the output, not the file that is hidden beside it") {
  const TempDir dir;
  const std::string output = dir.path() + "/missing/report.html";
  const std::string words =
      words_of_refusal({.output = output, .inputs = {dir.path() + "/set.npy"}});
  CHECK(words.starts_with(output + ": "));
  CHECK(words.find("shale-report") == std::string::npos);
}

TEST_CASE("write report: '-' is not a file's name") {
  CHECK(code_of({.output = "-", .inputs = {"/nowhere"}}) == Code::usage);
}

TEST_CASE("write report: an output with the longest name that there is") {
  const TempDir dir;
  const std::string output = dir.path() + "/" + std::string(250, 'r') + ".html";
  write_report({.output = output, .inputs = {dir.path() + "/set.npy"}}, kPage);
  CHECK(read_text(output) == kPage);
}

TEST_CASE("write report: the dataset is no place for a report") {
  const TempDir dir;
  const std::string set = dir.path() + "/set";
  fs::create_directory(set);
  CHECK(code_of({.output = set + "/report.html", .inputs = {set}}) == Code::usage);
  CHECK(code_of({.output = set, .inputs = {set}}) == Code::usage);
  CHECK(code_of({.output = set + "/", .inputs = {set}}) == Code::usage);
  fs::create_directory_symlink("set", dir.path() + "/link");
  CHECK(code_of({.output = dir.path() + "/link/report.html", .inputs = {set}}) == Code::usage);
  CHECK(fs::is_empty(set));
}

TEST_CASE("write report: what a killed run left is replaced, what somebody else left is not") {
  const TempDir dir;
  const ReportPlace place{.output = dir.path() + "/report.html",
                          .inputs = {dir.path() + "/set.npy"}};
  const std::string left = dir.path() + "/.report.html.shale-report";
  write_file(left, "mine");
  CHECK(code_of(place) == Code::exists);
  CHECK(read_text(left) == "mine");
  std::string changed = kOther;
  changed[kPageBegin.size()] = 'T';
  write_file(left, changed);
  CHECK(code_of(place) == Code::exists);
  CHECK(read_text(left) == changed);
  write_file(left, kOther.substr(0, kOther.size() - 1));
  write_report(place, kPage);
  CHECK(read_text(place.output) == kPage);
  CHECK_FALSE(fs::exists(left));
}

TEST_CASE("write report: many to one output at once leave one whole page, and nothing else") {
  const TempDir dir;
  const ReportPlace place{.output = dir.path() + "/report.html",
                          .inputs = {dir.path() + "/set.npy"},
                          .overwrites = true};
  const auto page_of = [](char letter) {
    return sealed(std::string(kPageBegin) + std::string(100'000, letter));
  };
  std::vector<std::thread> writers;
  std::atomic<int> failed = 0;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 20; ++i) {
        try {
          write_report(place, page_of(letter));
        } catch (const Error&) {
          ++failed;
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(failed.load() == 0);
  const std::string found = read_text(place.output);
  CHECK(found == page_of(found[kPageBegin.size()]));
  CHECK(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()) == 1);
}

const std::string kWhole = sealed(std::string(kPageBegin) + "body\n");

PageState state_of(const std::string& content) {
  const TempDir dir;
  write_file(dir.path() + "/page.html", content);
  return page_state(dir.path() + "/page.html");
}

TEST_CASE("page seal: a page that was sealed is whole, and the seal is its last line") {
  CHECK(state_of(kWhole) == PageState::whole);
  CHECK(kWhole.ends_with(" -->\n"));
  CHECK(state_of(sealed(std::string(kPageBegin) + std::string(3 << 20, 'x'))) == PageState::whole);
}

TEST_CASE("page seal: any byte that changes is noticed") {
  for (std::size_t at = 0; at < kWhole.size(); ++at) {
    CAPTURE(at);
    std::string changed = kWhole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK(state_of(changed) != PageState::whole);
  }
}

TEST_CASE("page seal: what was cut off is a page that was begun, and something else is foreign") {
  for (const std::size_t bytes : {kPageBegin.size(), kPageBegin.size() + 1, kWhole.size() - 1})
    CHECK(state_of(kWhole.substr(0, bytes)) == PageState::begun);
  CHECK(state_of(kWhole + " ") == PageState::begun);
  CHECK(state_of("") == PageState::foreign);
  CHECK(state_of(kWhole.substr(0, kPageBegin.size() - 1)) == PageState::foreign);
  CHECK(state_of(sealed("<html>mine</html>\n")) == PageState::foreign);
}

}  // namespace
}  // namespace shale
