#include "tools/verify_sums.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/base/size_text.hpp"
#include "shale/sums/check_sums.hpp"

#include "tools/facts.hpp"

namespace shale::tools {
namespace {

// Every byte of files is read, and nothing else is asked of them.
constexpr std::initializer_list<const char*> kIdle = {
    "quick", "full", "deep", "strict", "sample", "labels", "index-dir", "on", "partners"};

SumsRequest sums_request(const CommandLine& line) {
  return {.path = dataset_word(line),
          .jobs = static_cast<unsigned>(line.jobs().value),
          .memory_bytes = line.memory().value};
}

// What is told of findings: the first of them, or for --json.
class Told {
 public:
  Told(Console& console, FindingList* list) : console_(console), list_(list) {}

  [[nodiscard]] FindingSink sink() {
    return [this](const Finding& finding) {
      if (list_ != nullptr) list_->add(finding);
      if (++count_ > kToldFindings) return;
      if (console_.is_json()) {
        first_.push_back(finding_facts(finding));
      } else {
        console_.finding(finding);
      }
    };
  }

  [[nodiscard]] Json facts_of(const SumsReport& report) const {
    VerifyReport read;
    read.bytes = report.bytes;
    read.findings = report.findings();
    Json facts = verify_facts(read);
    facts["first_findings"] = first_;
    facts["sums"] = {{"files", report.files},
                     {"missing", report.missing},
                     {"different", report.different},
                     {"additional", report.additional}};
    return facts;
  }

  void finish() {
    if (!console_.is_json() && count_ > kToldFindings)
      console_.more_findings(count_ - kToldFindings);
  }

 private:
  Console& console_;
  FindingList* list_;
  std::uint64_t count_ = 0;
  Json first_ = Json::array();
};

}  // namespace

void refuse_options(const CommandLine& line, std::string_view what,
                    std::initializer_list<const char*> others) {
  for (const char* const other : others) {
    if (!line.has(other)) continue;
    throw Error(Code::usage, "--{} does not go with {}", other, what)
        .hint(fmt::format("leave out --{}", other));
  }
}

int export_sums_of(const CommandLine& line, Console& console, FindingList* list) {
  if (line.text("export") != "sha256sum") {
    throw Error(Code::usage, "--export '{}' is not a kind of list", printable(line.text("export")))
        .hint("pass --export sha256sum");
  }
  refuse_options(line, "--export", kIdle);
  refuse_options(line, "--export", {"against"});
  Told told(console, list);
  Json lines = Json::array();
  const SumsReport report = export_sums(
      sums_request(line), DigestKind::sha256,
      [&](const std::string& text) {
        if (!console.is_json()) return console.print(text);
        lines.push_back(printable(std::string_view(text).substr(0, text.size() - 1)));
      },
      told.sink(), console.events());
  told.finish();
  if (console.is_json()) {
    Json facts = told.facts_of(report);
    facts["sums"]["lines"] = std::move(lines);
    console.report(facts, "");
  } else if (report.findings() > 0) {
    console.hint(
        fmt::format("run 'shale verify {}' to see what is damaged", printable(dataset_word(line))));
  }
  return report.findings() == 0 ? kDone : kDamaged;
}

std::optional<SumList> sum_list_in_against(const CommandLine& line) {
  const std::vector<std::string> against = line.texts("against");
  if (against.size() != 1) return std::nullopt;
  std::optional<SumList> sums = read_sum_list(against.front(), line.memory().value / 2);
  if (sums) refuse_options(line, "--against of a list of checksums", kIdle);
  return sums;
}

int verify_by_sums(const CommandLine& line, const SumList& sums, Console& console,
                   FindingList* list) {
  const SumsRequest request = sums_request(line);
  const std::string list_path = line.texts("against").front();
  if (const std::string prefix = prefix_outside(sums); !prefix.empty()) {
    throw Error(Code::bad_content, "names of the list begin with '{}', and are not below {}",
                printable(prefix), printable(request.path))
        .at(list_path)
        .hint(fmt::format(
            "names are relative to the folder; to take off what they begin with: sed 's|{}||' {} > "
            "LIST",
            printable(prefix), shell_word(list_path)));
  }
  Told told(console, list);
  const SumsReport report = compare_sums(request, sums, list_path, told.sink(), console.events());
  told.finish();
  const std::string files = fmt::format("{} ({})", format_counted(report.files, "file", "files"),
                                        format_size(report.bytes));
  const std::string text =
      report.findings() == 0
          ? fmt::format("{}: {}: each has the {} of the list\n", printable(request.path), files,
                        name_of(sums.kind))
          : fmt::format("{}: {}: {} differ, {} missing, {} not in the list\n",
                        printable(request.path), files, format_count(report.different),
                        format_count(report.missing), format_count(report.additional));
  console.report(told.facts_of(report), console.is_quiet() ? "" : text);
  if (report.different + report.missing > 0 && !console.is_json() && !console.is_quiet())
    console.hint("copy or download these files again");
  return report.findings() == 0 ? kDone : kDamaged;
}

}  // namespace shale::tools
