#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/split_folders.hpp"
#include "shale/verify/verify.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

constexpr std::uint64_t kToldFindings = 1000;

VerifyRequest verify_request_of(const CommandLine& line) {
  line.require_words(1);
  VerifyRequest request;
  request.dataset = line.words()[0];
  if (int{line.flag("quick")} + int{line.flag("full")} + int{line.flag("deep")} > 1) {
    throw Error(Code::usage, "--quick, --full and --deep exclude one another")
        .hint("--full is the default");
  }
  if (line.flag("quick")) request.depth = VerifyDepth::quick;
  if (line.flag("deep")) request.depth = VerifyDepth::deep;
  request.against = line.texts("against");
  request.labels_file = line.text_or_none("labels");
  read_label_columns(line, request.labels_file, request.label_column, request.key_column);
  if (!request.labels_file.empty() && request.against.empty()) {
    throw Error(Code::usage, "--labels needs --against, the folder that the labels belong to");
  }
  request.index_folder = line.text_or_none("index-dir");
  request.generator = kGenerator;
  request.jobs = static_cast<unsigned>(line.jobs().value);
  request.memory_bytes = line.memory().value;
  return request;
}

std::string_view proof_of(const VerifyRequest& request, const VerifyReport& report) {
  if (!report.proves_payload) {
    return request.against.empty()
               ? "the container's structure is intact (payload not checked)"
               : "the container's structure is intact, and the source holds the same samples";
  }
  if (!request.against.empty() && request.depth == VerifyDepth::quick) {
    return "manifest, sizes and index shapes are correct, and the source holds the samples that "
           "the "
           "manifest describes (payload not verified; --full does that)";
  }
  if (!request.against.empty())
    return "every byte is as it was written, and the source holds the same samples";
  switch (request.depth) {
    case VerifyDepth::quick:
      return "manifest, sizes and index shapes are correct (payload not read)";
    case VerifyDepth::full:
      return "every byte is as it was written";
    case VerifyDepth::deep:
      return report.has_images && report.undecoded == 0
                 ? "every byte is as it was written, the digests are correct, and the images decode"
                 : "every byte is as it was written, and the digests are correct";
  }
  return "";
}

std::string opinion_of(const VerifyReport& report) {
  const SecondOpinion& opinion = report.second_opinion;
  if (opinion.shards == 0 || opinion.findings > 0) return {};
  return fmt::format("{} read {} in {} and agrees\n", opinion.library,
                     format_counted(opinion.samples, "sample", "samples"),
                     format_counted(opinion.shards, "shard", "shards"));
}

// What to do about the findings: it depends on which files they are in.
std::string_view hint_for(const VerifyReport& report, const std::string& dataset) {
  const auto is_sidecar = [](const Finding& finding) {
    return std::any_of(std::begin(kListSuffixes), std::end(kListSuffixes),
                       [&](std::string_view suffix) { return finding.file.ends_with(suffix); });
  };
  const auto is_difference = [](const Finding& finding) { return finding.file.empty(); };
  const std::vector<Finding>& findings = report.first_findings;
  if (report.findings == report.second_opinion.findings) {
    return "shale finds the dataset intact, but the library of its format does not: keep the "
           "dataset, and report this as a bug in shale";
  }
  if (report.findings == report.bad_when_written) {
    return "the dataset is a faithful copy of its source: fix or remove these images there, then "
           "convert it again";
  }
  if (std::all_of(findings.begin(), findings.end(), is_sidecar))
    return "'shale index' rebuilds indexes and block lists";
  if (std::all_of(findings.begin(), findings.end(), is_difference)) {
    if (!report.is_compared) {
      return "the dataset itself is intact, but the source is damaged, so they were not compared "
             "to the end";
    }
    return "the dataset itself is intact, but it was not made from this source";
  }
  if (holds_dataset(dataset)) {
    return "'shale repair' replaces these files, from a copy of the dataset or from its source";
  }
  return "copy these files again from an intact copy, or convert the source again with --overwrite";
}

struct Verified {
  VerifyReport report;
  int code = kDone;
};

// One dataset: what the user reads of it, but for --json.
// `split`: its name, if it is one of several.
Verified verify_one(const VerifyRequest& request, Console& console, const std::string& split = {}) {
  std::uint64_t told = 0;
  const FindingSink sink = [&](Finding finding) {
    if (++told > kToldFindings || console.is_json()) return;
    if (!split.empty() && !finding.file.empty()) finding.file = join_path(split, finding.file);
    console.finding(finding);
  };
  Verified verified{.report = verify(request, sink, console.events())};
  const VerifyReport& report = verified.report;
  // Images that were bad when they were written are not damage of the dataset.
  if (report.findings > 0)
    verified.code = report.findings == report.bad_when_written ? kSomeSkipped : kDamaged;
  if (console.is_json()) return verified;
  const std::uint64_t shown = std::min(told, kToldFindings);
  if (report.findings > shown) console.more_findings(report.findings - shown);
  std::string text;
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  text += report.findings == 0 ? fmt::format("{}: {} in {}: {}\n", printable(request.dataset),
                                             format_counted(report.samples, "sample", "samples"),
                                             format_counted(report.shards, "shard", "shards"),
                                             proof_of(request, report))
                               : fmt::format("{}: {}{}\n", printable(request.dataset),
                                             format_counted(report.findings, "finding", "findings"),
                                             report.findings == report.bad_when_written
                                                 ? ": every byte is as it was written"
                                                 : "");
  text += opinion_of(report);
  if (console.is_quiet()) return verified;
  console.print(text);
  if (report.findings > 0) console.hint(hint_for(report, request.dataset));
  return verified;
}

// Of two exit codes the one that says more.
int worse_of(int one, int other) {
  constexpr int kByWeight[] = {kDone, kSomeSkipped, kFailed, kDamaged, kBug};
  const auto weight = [&](int code) {
    return std::find(std::begin(kByWeight), std::end(kByWeight), code);
  };
  return weight(one) < weight(other) ? other : one;
}

// A damaged or unfinished split is no reason to say nothing of the others.
int verify_splits(const VerifyRequest& request, const std::vector<std::string>& splits,
                  Console& console) {
  Json json = {{"ok", true}, {"shards", 0},   {"samples", 0},
               {"bytes", 0}, {"findings", 0}, {"splits", Json::object()}};
  const auto add = [&](const char* name, std::uint64_t count) {
    json[name] = json[name].get<std::uint64_t>() + count;
  };
  const std::vector<std::vector<std::string>> sources =
      sources_of_splits(request.against, splits, console.events());
  int code = kDone;
  for (std::size_t split = 0; split < splits.size(); ++split) {
    const std::string& name = splits[split];
    VerifyRequest one = request;
    one.dataset = join_path(request.dataset, name);
    one.against = sources[split];
    try {
      const Verified verified = verify_one(one, console, name);
      const VerifyReport& report = verified.report;
      json["splits"][name] = verify_facts(report);
      add("shards", report.shards);
      add("samples", report.samples);
      add("bytes", report.bytes);
      add("findings", report.findings);
      code = worse_of(code, verified.code);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted || error.code() == Code::usage) throw;
      const Error told = with_usual_hint(error, "verify");
      console.failed(told);
      json["splits"][name] = error_facts(told);
      code = worse_of(code, exit_code_of(error.code()));
    }
    json["ok"] = json["ok"].get<bool>() && code == kDone;
  }
  if (console.is_json()) console.report(json, "");
  return code;
}

}  // namespace

int run_verify(const CommandLine& line, Console& console) {
  const VerifyRequest request = verify_request_of(line);
  if (const std::vector<std::string> splits = splits_in(request.dataset); !splits.empty())
    return verify_splits(request, splits, console);
  const Verified verified = verify_one(request, console);
  if (console.is_json()) console.report(verify_facts(verified.report), "");
  return verified.code;
}

}  // namespace shale::tools
