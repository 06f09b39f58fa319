#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/archives/archive_path.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/base/size_text.hpp"
#include "shale/browse/indexed_join.hpp"
#include "shale/browse/verify_join.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/datasets/set_index.hpp"
#include "shale/folders/folder_request.hpp"
#include "shale/labels/label_pattern.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/labels/table_source.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/ops/make_shards_again.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/offered_whole.hpp"
#include "shale/sources/split_folders.hpp"
#include "shale/sources/tars_of_samples.hpp"
#include "shale/verify/verify.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/finding_list.hpp"
#include "tools/requests.hpp"
#include "tools/split_paths.hpp"
#include "tools/verify_sums.hpp"

namespace shale::tools {
namespace {

VerifyRequest verify_request_of(const CommandLine& line) {
  VerifyRequest request;
  if (!joined_inputs(line)) request.dataset = dataset_word(line);
  if (int{line.flag("quick")} + int{line.flag("full")} + int{line.flag("deep")} > 1) {
    throw Error(Code::usage, "--quick, --full and --deep exclude one another")
        .hint("--full is the default");
  }
  if (line.flag("quick")) request.depth = VerifyDepth::quick;
  if (line.flag("deep")) request.depth = VerifyDepth::deep;
  if (line.has("sample")) {
    refuse_options(line, "--sample", {"quick", "full", "deep", "against"});
    request.part = parse_block_part(line.text("sample"), number_of_day());
    request.depth = VerifyDepth::quick;  // and the blocks of the part
  }
  request.lists_findings = line.has("report");
  request.against = with_archives_joined(line.texts("against"));
  request.labels = label_file_of(line);
  (void)take_no_labels(request.labels);
  refuse_idle_labels(request);
  request.join = join_option(line);
  if (!request.against.empty()) request.raw = raw_option(line);
  if (!request.dataset.empty()) refuse_idle_join(line, request.against, "--against");
  request.index_folder = line.text_or_none("index-dir");
  request.parsing = parsing_option(line);
  request.is_strict = line.flag("strict");
  request.generator = kGenerator;
  request.jobs = static_cast<unsigned>(line.jobs().value);
  request.memory_bytes = line.memory().value;
  return request;
}

// "a", "a, and b", "a, b, and c".
std::string joined(const std::vector<std::string>& claims) {
  std::string text = claims.front();
  for (std::size_t i = 1; i < claims.size(); ++i)
    text += (i + 1 == claims.size() ? ", and " : ", ") + claims[i];
  return text;
}

std::string proof_of_part(const VerifiedPart& part) {
  const double share = part.all_bytes == 0 ? 100
                                           : 100 * static_cast<double>(part.bytes) /
                                                 static_cast<double>(part.all_bytes);
  return fmt::format(
      "part {}/{}: {} of {} ({:.3g}%) are as they were written (the others were not read)",
      part.number, part.count, format_size(part.bytes), format_size(part.all_bytes), share);
}

std::string proof_of(const VerifyRequest& request, const VerifyReport& report) {
  if (report.part.count > 0) return proof_of_part(report.part);
  const std::string& compared = report.comparison.sentence;
  std::vector<std::string> claims;
  std::string limit;
  if (!report.proves_payload) {
    claims.emplace_back(report.proves_container
                            ? "the container's structure and its checksums are intact"
                            : "the container's structure is intact");
    if (compared.empty() && !report.proves_container) limit = " (payload not checked)";
  } else if (request.depth == VerifyDepth::quick) {
    claims.emplace_back("manifest, sizes and index shapes are correct");
    limit = compared.empty() ? " (payload not read)" : " (payload not verified; --full does that)";
  } else {
    claims.emplace_back("every byte is as it was written");
  }
  if (request.depth == VerifyDepth::deep) {
    if (report.proves_payload) claims.emplace_back("the digests are correct");
    if (report.has_images && report.undecoded == 0) claims.emplace_back("the images decode");
    if (report.has_images && !limit.empty()) limit = " (other payload not checked)";
  }
  if (!compared.empty()) claims.push_back(compared);
  return joined(claims) + limit;
}

std::string opinion_of(const VerifyReport& report) {
  const SecondOpinion& opinion = report.second_opinion;
  if (opinion.shards == 0 || opinion.findings > 0) return {};
  return fmt::format("{} read {} in {} and agrees\n", opinion.library,
                     format_counted(opinion.samples, "sample", "samples"),
                     format_counted(opinion.shards, "shard", "shards"));
}

bool is_proved(const VerifyReport& report, const VerifyRequest& request) {
  return report.proves_payload && request.depth != VerifyDepth::quick;
}

// Where only the comparison found something: which of the two is to blame, if that is known.
std::string hint_of_comparison(const VerifyReport& report, const VerifyRequest& request) {
  const bool is_intact = is_proved(report, request);
  const std::string dataset = is_intact ? "the dataset itself is intact, but " : "";
  switch (report.comparison.verdict) {
    case SourceVerdict::another_source:
      return dataset + "it was not made from this source";
    case SourceVerdict::incomplete:
      return dataset + "the source has samples that it lacks: convert the source again" +
             (holds_dataset(request.dataset) ? ", or add them with 'shale convert --append'" : "");
    case SourceVerdict::other_keys:
      return dataset +
             "none of its keys is in this source: pass the folder, the archive or the list of "
             "files (--against -) that it was made from";
    default:
      return is_intact ? "the dataset itself is intact: the source has changed since, or it was "
                         "made from another one"
                       : "the dataset or the source has changed: the payload of the dataset was "
                         "not verified, so it is not known which";
  }
}

// The command that replaces what is damaged, as far as the manifest tells it.
std::string hint_of_repair(const std::string& dataset) {
  const std::string command = fmt::format("'shale repair {} --from", printable(dataset));
  std::string from_copy = command + " COPY' replaces these files, from a copy of the dataset";
  Manifest manifest;
  try {
    manifest = read_manifest(DatasetPaths(dataset));
  } catch (const Error&) {  // it is what is damaged
    return from_copy;
  }
  if (manifest.runs.empty() && why_only_a_copy(manifest)) return from_copy;
  bool is_chosen = has_chosen_samples(manifest);
  bool is_flat = manifest.source.kind == kFlatFolder;
  for (const ManifestRun& run : manifest.runs) {
    is_chosen = is_chosen || std::ranges::any_of(run.options, [](const auto& option) {
                  return option.first == kChosenSamples;
                });
    is_flat = is_flat || run.source.kind == kFlatFolder;
  }
  const bool needs_labels = is_flat && option_of(manifest, kLabelFromOption).empty();
  std::string options = needs_labels ? "--labels" : "";
  if (is_chosen) {
    options += options.empty() ? "" : " and the ";
    options += "--split (with its --seed), --select, --exclude, --classes or --limit";
  }
  if (!options.empty()) options = ", with the " + options + " that it was converted with";
  return command + " SOURCE' replaces these files, from a copy of the dataset, or from " +
         (manifest.runs.empty() ? "what it was made from"
                                : "each of its inputs, one after the other") +
         options;
}

// What to do about the findings: it depends on which files they are in.
std::string hint_for(const VerifyReport& report, const VerifyRequest& request) {
  const std::string& dataset = request.dataset;
  const auto is_sidecar = [](const Finding& finding) {
    return std::any_of(std::begin(kListSuffixes), std::end(kListSuffixes),
                       [&](std::string_view suffix) { return finding.file.ends_with(suffix); });
  };
  const std::vector<Finding>& findings = report.first_findings;
  if (report.findings == report.second_opinion.findings) {
    return "shale finds the dataset intact, but the library of its format does not: keep the "
           "dataset, and report this as a bug in shale";
  }
  if (report.findings == report.bad_when_written) {
    return "the dataset is a faithful copy of its source: fix or remove these images there, then "
           "convert it again";
  }
  if (!report.is_compared && report.findings == 1) {
    const std::string& source = request.against.front();
    const std::string intact =
        is_proved(report, request) ? "the dataset itself is intact, but " : "";
    return intact + (holds_dataset(source)
                         ? fmt::format("the source is damaged: 'shale verify {}' lists what",
                                       printable(source))
                         : "the source is damaged, so they were not compared to the end");
  }
  if (report.findings == report.comparison.findings) return hint_of_comparison(report, request);
  if (request.is_strict && report.findings == report.stray_count)
    return "move these files away: they are not part of the dataset, which is intact";
  const std::string index = index_command(dataset, request.index_folder, {}, false);
  if (std::all_of(findings.begin(), findings.end(), is_sidecar))
    return fmt::format("'{}' rebuilds indexes and block lists", index);
  if (holds_dataset(dataset)) return hint_of_repair(dataset);
  const bool is_set = holds_set(dataset);
  const std::string folder = folder_of_set_index(dataset, request.index_folder);
  if (is_set && !folder.empty() && is_manifest(DatasetPaths(folder).manifest)) {
    return fmt::format(
        "copy these files again from an intact copy; where the change is intended, '{}' indexes "
        "the set as it is",
        index);
  }
  if (may_be_saved(dataset, {})) {
    return fmt::format(
        "copy {} again from an intact copy; 'shale convert {} OUT --to record --on-error skip' "
        "takes what is whole of {}",
        is_set ? "these files" : "the file", printable(dataset), is_set ? "them" : "it");
  }
  return "copy these files again from an intact copy, or convert the source again with --overwrite";
}

// What is to be said beside the number of findings.
std::string found_text(const VerifyReport& report) {
  if (!report.comparison.sentence.empty()) return ": " + report.comparison.sentence;
  return report.findings == report.bad_when_written ? ": every byte is as it was written" : "";
}

Json facts_of(const VerifyReport& report) {
  Json json = verify_facts(report);
  if (const VerifiedPart& part = report.part; part.count > 0) {
    json["part"] = {{"number", part.number},
                    {"count", part.count},
                    {"bytes", part.bytes},
                    {"all_bytes", part.all_bytes}};
  }
  return json;
}

struct Verified {
  VerifyReport report;
  int code = kDone;
};

// One dataset: what the user reads of it, but for --json.
// `split`: its name, if it is one of several.
Verified verify_one(const VerifyRequest& request, Console& console, FindingList* list,
                    const std::string& split = {}) {
  std::uint64_t told = 0;
  const FindingSink sink = [&](Finding finding) {
    if (!split.empty() && !finding.file.empty()) finding.file = join_path(split, finding.file);
    if (list != nullptr) list->add(finding);
    if (++told > kToldFindings || console.is_json()) return;
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
  text +=
      report.findings == 0
          ? fmt::format("{}: {} in {}: {}\n", printable(request.dataset),
                        format_counted(report.samples, "sample", "samples"),
                        format_counted(report.shards, "shard", "shards"), proof_of(request, report))
          : fmt::format("{}: {}{}\n", printable(request.dataset),
                        format_counted(report.findings, "finding", "findings"), found_text(report));
  text += opinion_of(report);
  if (console.is_quiet()) return verified;
  console.print(text);
  if (report.findings > 0) console.hint(hint_for(report, request));
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
int verify_splits(const VerifyRequest& request, const std::vector<SplitPath>& splits,
                  Console& console, FindingList* list) {
  Json json = {{"ok", true}, {"shards", 0},   {"samples", 0},
               {"bytes", 0}, {"findings", 0}, {"splits", Json::object()}};
  const auto add = [&](const char* name, std::uint64_t count) {
    json[name] = json[name].get<std::uint64_t>() + count;
  };
  std::vector<std::string> names;
  names.reserve(splits.size());
  for (const SplitPath& split : splits) names.push_back(split.name);
  const std::vector<std::vector<std::string>> sources =
      sources_of_splits(request.against, names, console.events());
  int code = kDone;
  for (std::size_t split = 0; split < splits.size(); ++split) {
    const std::string& name = names[split];
    VerifyRequest one = request;
    one.dataset = splits[split].path;
    one.against = sources[split];
    try {
      const Verified verified = verify_one(one, console, list, name);
      const VerifyReport& report = verified.report;
      json["splits"][name] = facts_of(report);
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

// What is in the inputs of a join, each by itself as far as it can be verified: a folder or a table
// is only read.
bool can_be_verified(const std::string& path) {
  if (is_table(path) || archive_of_path(path)) return false;
  return holds_dataset(path) || holds_set(path) || file_of_path(path);
}

// What makes no table along its first axes is only read along others.
std::optional<Verified> verify_file(const VerifyRequest& request, bool is_turned, Console& console,
                                    FindingList* list) try {
  return verify_one(request, console, list);
} catch (const Error& error) {
  if (!is_turned || error.code() != Code::unsupported) throw;
  return std::nullopt;
}

// Each input, then how they go together.
int verify_inputs(const VerifyRequest& request, InputRequest inputs, Console& console,
                  FindingList* list) {
  if (!request.against.empty()) {
    throw Error(Code::usage,
                "inputs that are joined, or read along --axis, are verified by themselves, and not "
                "with --against")
        .hint("convert them, and verify the result: --against takes the same inputs");
  }
  inputs.memory_bytes = request.memory_bytes;
  Json json = {{"ok", true}, {"shards", 0}, {"bytes", 0}, {"parts", Json::object()}};
  int code = kDone;
  std::uint64_t findings = 0, told = 0;
  for (const std::string& word : inputs.inputs) {
    VerifyRequest part = request;
    part.dataset = path_in_word(word);
    part.join = {};
    const std::string name = word.substr(0, word.size() - part.dataset.size());
    if (!can_be_verified(part.dataset)) continue;
    const bool is_only_read = inputs.raw.is_given() || are_arrays_alone({part.dataset});
    const std::optional<Verified> own =
        is_only_read ? std::nullopt : verify_file(part, !inputs.axes.empty(), console, list);
    if (!own) continue;
    const Verified& verified = *own;
    json["parts"][name.empty() ? word : name.substr(0, name.size() - 1)] =
        facts_of(verified.report);
    json["shards"] = json["shards"].get<std::uint64_t>() + verified.report.shards;
    json["bytes"] = json["bytes"].get<std::uint64_t>() + verified.report.bytes;
    findings += verified.report.findings;
    code = worse_of(code, verified.code);
  }
  // Whoever says which samples are wanted knows that others are left out.
  const bool tells = inputs.join.partners == Partners::unset;
  std::vector<Finding> first;
  const JoinVerdict join = verify_join(
      inputs,
      [&](const Finding& finding) {
        if (tells && list != nullptr) list->add(finding);
        if (!tells || ++told > kToldFindings) return;
        first.push_back(finding);
        if (!console.is_json()) console.finding(finding);
      },
      console.events());
  if (tells && join.alone > 0) code = worse_of(code, kSomeSkipped);
  if (tells) findings += join.alone;
  json["ok"] = code == kDone;
  json["samples"] = join.samples;
  json["findings"] = findings;
  json["without_partner"] = join.alone;
  json["first_findings"] = Json::array();
  for (const Finding& finding : first) json["first_findings"].push_back(finding_facts(finding));
  json["notes"] = join.notes;
  if (told > kToldFindings) console.more_findings(told - kToldFindings);
  std::string text;
  for (const std::string& note : join.notes) text += fmt::format("note: {}\n", note);
  text += fmt::format(
      "{}: {} {}{}\n", printable(text_of_inputs(inputs.inputs)),
      format_counted(join.samples, "sample", "samples"),
      inputs.raw.is_given()                              ? "read as --raw says"
      : inputs.inputs.size() == 1 && inputs.axes.empty() ? "read"
      : inputs.inputs.size() == 1                        ? "read along --axis"
                                                         : "joined",
      join.alone == 0
          ? ""
          : fmt::format(", {} without a partner", format_counted(join.alone, "sample", "samples")));
  console.report(json, console.is_quiet() ? "" : text);
  return code;
}

// A folder that nobody has converted.
[[noreturn]] void refuse_to_compare(const VerifyRequest& request) {
  const std::string& against = request.against.front();
  const bool is_dataset = holds_dataset(against);
  throw Error(Code::unsupported, "{}, and {} is not a dataset that is compared with {}",
              is_dataset ? "is a dataset" : "is not a list of checksums",
              printable(request.dataset), is_dataset ? "another" : "anything else")
      .at(against)
      .hint(is_dataset ? fmt::format("shale verify {} --against {}", shell_word(against),
                                     shell_word(request.dataset))
                       : "pass a list as sha256sum or md5sum writes it; or convert the folder, and "
                         "verify the result against it");
}

int verify_word(const CommandLine& line, Console& console, FindingList* list) {
  if (line.has("export")) return export_sums_of(line, console, list);
  if (const std::optional<SumList> sums = sum_list_in_against(line))
    return verify_by_sums(line, *sums, console, list);
  VerifyRequest request = verify_request_of(line);
  if (const std::optional<InputRequest> inputs = joined_inputs(line))
    return verify_inputs(request, *inputs, console, list);
  std::optional<InputRequest> input = listed_input(line);
  if (input && !request.against.empty() && !are_compressed_samples(request.dataset))
    refuse_to_compare(request);
  if (input && request.against.empty()) {
    if (line.has("sample")) {
      throw Error(Code::usage, "--sample reads a part of the blocks of a dataset, and this is none")
          .at(request.dataset)
          .hint("leave it out");
    }
    if (request.depth == VerifyDepth::quick) {
      throw Error(Code::usage, "--quick reads no files, and there is nothing else to verify")
          .at(request.dataset)
          .hint("leave it out, or pass --deep to decode the images");
    }
    input->jobs = request.jobs;
    input->memory_bytes = request.memory_bytes;
    return verify_input(*input, request.depth == VerifyDepth::deep, console, list);
  }
  refuse_idle_file_options(line, request.dataset);
  if (const std::vector<SplitPath> splits = splits_at(request.dataset); !splits.empty())
    return verify_splits(request, splits, console, list);
  // One split of several, where the source may be that of all.
  if (request.against.size() == 1)
    request.against = source_of_split(request.against.front(), request.dataset, console.events());
  const Verified verified = verify_one(request, console, list);
  if (console.is_json()) console.report(facts_of(verified.report), "");
  return verified.code;
}

}  // namespace

int run_verify(const CommandLine& line, Console& console) {
  std::optional<FindingList> list;
  if (line.has("report")) list.emplace(line.text("report"));
  int code = kDone;
  try {
    code = verify_word(line, console, list ? &*list : nullptr);
  } catch (...) {
    if (list) list->finish();
    throw;
  }
  if (!list) return code;
  list->finish();
  if (!console.is_json() && !console.is_quiet())
    console.print(fmt::format("wrote {}: {}\n", printable(line.text("report")),
                              format_counted(list->lines(), "finding", "findings")));
  return code;
}

}  // namespace shale::tools
