#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "shale/archives/stream_path.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/base/size_text.hpp"
#include "shale/browse/indexed_join.hpp"
#include "shale/data/field_type.hpp"
#include "shale/ops/check_input.hpp"
#include "shale/sources/split_folders.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/finding_list.hpp"

// Inputs that are not datasets, such as folders of images: what info and verify say of them.

namespace shale::tools {
namespace {

constexpr std::size_t kShownClasses = 10;

std::string classes_text(const InputCheck& check) {
  std::string text = format_counted(check.classes.size(), "class", "classes") + ": ";
  for (std::size_t i = 0; i < std::min(kShownClasses, check.classes.size()); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", printable(check.classes[i]),
                        format_count(check.class_samples[i]));
  }
  if (check.classes.size() <= kShownClasses) return text;
  const auto [least, most] = std::ranges::minmax(check.class_samples);
  return text + fmt::format(" ...; {} to {} in each", format_count(least), format_count(most));
}

std::string labels_text(const SeenLabels& labels) {
  const std::string name = printable(labels.file);
  if (labels.command.empty()) return fmt::format("{}: not used: {}", name, labels.reason);
  return fmt::format("{} has labels of {}: {}", name,
                     format_counted(labels.samples, "file", "files"), labels.command);
}

// The lines about what is there, and what a conversion leaves out; of a plan those that it does not
// have itself.
std::string lines_of(const InputCheck& check, bool is_of_plan = false) {
  std::string text;
  const auto add = [&](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<9}{}\n", what, value);
  };
  if (!check.classes.empty()) add("classes", classes_text(check));
  if (!is_of_plan) add("fields", fields_text(check.schema));
  if (!check.suffixes.empty()) add("files", counts_text(check.suffixes));
  const std::string share =
      check.looked_at < check.samples
          ? fmt::format(" (of {} that were looked at)", format_count(check.looked_at))
          : "";
  if (!check.images.types.empty()) add("images", counts_text(check.images.types) + share);
  if (!check.images.odd.empty()) add("odd", counts_text(check.images.odd) + share);
  if (!check.images.sizes.is_empty()) {
    add("sizes", sizes_text(check.images.sizes) + share);
    add("shapes", shapes_text(check.images.sizes) + share);
  }
  if (check.bad > 0) add("bad", counts_text(check.faults) + share);
  for (const auto& [reason, count] : check.ignored_by)
    add("ignored", fmt::format("{}: {}, such as {}", reason, format_count(count),
                               printable(check.first_ignored.at(reason))));
  for (const SeenLabels& labels : check.labels) add("labels", labels_text(labels));
  if (is_of_plan) return text;
  if (check.left_out.count() > 0) add("left out", left_out_text(check.left_out));
  for (const std::string& note : check.notes) add("note", note);
  return text;
}

std::string check_text(const InputCheck& check, const std::string& path) {
  std::string text = fmt::format("{}: {}, not converted\n  {:<9}{}, {}\n{}", printable(path),
                                 check.kind, "samples", format_count(check.samples),
                                 format_size(check.bytes), lines_of(check));
  if (check.refusal) {
    text +=
        fmt::format("  {:<9}a conversion refuses it: {}{}; {}\n", "refused",
                    check.refusal->file().empty() ? "" : printable(check.refusal->file()) + ": ",
                    check.refusal->message(), check.refusal->hint());
  }
  return text;
}

Json counts_json(const NamedCounts& counts) {
  Json json = Json::object();
  for (const auto& [name, count] : counts) json[printable(name)] = count;
  return json;
}

Json labels_facts(const SeenLabels& labels) {
  Json json = {{"file", printable(labels.file)}, {"samples", labels.samples}};
  if (labels.command.empty())
    json["reason"] = printable(labels.reason);
  else
    json["command"] = printable(labels.command);
  return json;
}

}  // namespace

Json input_facts(const InputCheck& check) {
  Json json = {
      {"version", kInfoVersion},
      {"kind", "input"},
      {"input_kind", check.kind},
      {"complete", true},
      {"samples", check.samples},
      {"bytes", check.bytes},
      {"classes", check.classes.size()},
      {"class_names", Json::array()},
      {"class_samples", check.class_samples},
      {"fields", Json::array()},
      {"files", counts_json(check.suffixes)},
      {"looked_at", check.looked_at},
      {"bad", check.bad},
      {"faults", counts_json(check.faults)},
      {"images",
       {{"types", counts_json(check.images.types)}, {"odd", counts_json(check.images.odd)}}},
      {"ignored", check.ignored},
      {"ignored_by", Json::array()},
      {"labels", Json::array()},
      {"notes", Json::array()}};
  for (const std::string& name : check.classes) json["class_names"].push_back(printable(name));
  for (const Field& field : check.schema.fields)
    json["fields"].push_back(
        {{"name", field.name}, {"kind", name_of(field.kind)}, {"type", field_type_text(field)}});
  for (const auto& [reason, count] : check.ignored_by) {
    json["ignored_by"].push_back({{"reason", reason},
                                  {"entries", count},
                                  {"first", printable(check.first_ignored.at(reason))}});
  }
  for (const SeenLabels& labels : check.labels) json["labels"].push_back(labels_facts(labels));
  for (const std::string& note : check.notes) json["notes"].push_back(note);
  if (check.left_out.count() > 0) json["left_out"] = left_out_text(check.left_out);
  if (check.refusal) json["refusal"] = error_facts(*check.refusal)["error"];
  return json;
}

namespace {

// Of each split, or of the only input; `use` gets its name, too.
template <class Use>
void for_each_split(const InputRequest& request, const Events& events, Use&& use) {
  const std::optional<SplitFolders> splits = find_split_folders(request, events);
  if (!splits) return use(request, std::string());
  for (const std::string& name : splits->names) use(input_of_split(request, *splits, name), name);
}

// The words of a finding are those of skipped.csv: "is truncated ...".
void tell_finding(Finding finding, const std::string& path, Console& console) {
  finding.file = join_path(path, finding.sample->key);
  finding.sample.reset();
  console.finding(finding);
}

std::string verdict_text(const InputCheck& check, const std::string& path, bool decodes) {
  if (check.bad > 0) {
    return fmt::format("{}: {} in {}: {}\n", printable(path),
                       format_counted(check.bad, "bad sample", "bad samples"),
                       format_counted(check.samples, "sample", "samples"),
                       counts_text(check.faults));
  }
  const bool has_images = !check.images.types.empty();
  return fmt::format(
      "{}: {}: {}\n", printable(path), format_counted(check.samples, "sample", "samples"),
      !has_images ? "every file can be read"
      : decodes   ? "every image decodes"
                  : "every image begins and ends as it should (not decoded; --deep does that)");
}

}  // namespace

PlannedInput planned_input(const ConvertRequest& request, const Events& events) {
  const bool is_one = request.inputs.size() == 1 && is_listed_input(request.inputs.front());
  if (!is_one || stream_of_path(request.inputs.front())) return {};
  InputRequest input = request;
  input.order = {.choice = request.order.choice};
  input.images = {};
  input.files.listing.is_only_read = true;
  PlannedInput planned;
  for_each_split(input, events, [&](const InputRequest& one, const std::string& name) {
    if (!name.empty()) planned.text += fmt::format("  input {}\n", printable(name));
    const InputCheck check = check_input(one, CheckDepth::survey, {}, events);
    planned.text += lines_of(check, true);
    planned.bad += check.bad;
  });
  return planned;
}

int info_of_input(const InputRequest& request, Console& console) {
  Json json = {{"version", kInfoVersion}, {"kind", "splits"}, {"complete", true}};
  bool is_refused = false;
  for_each_split(request, console.events(), [&](const InputRequest& one, const std::string& name) {
    const InputCheck check = check_input(one, CheckDepth::survey, {}, console.events());
    if (name.empty()) {
      json = input_facts(check);
    } else {
      json["splits"][name] = input_facts(check);
    }
    is_refused = is_refused || check.refusal;
    if (!console.is_json()) console.print(check_text(check, one.inputs.front()));
  });
  // Of splits one command, which gives all of them the classes of "train".
  if (console.is_json())
    console.report(json, "");
  else if (!is_refused)
    console.print(
        fmt::format("next: shale convert {} out --to record\n", command_words_of(request)));
  return kDone;
}

int verify_input(const InputRequest& request, bool decodes, Console& console, FindingList* list) {
  Json json = {{"ok", true}, {"samples", 0}, {"bytes", 0}, {"findings", 0}, {"undecoded", 0}};
  json["first_findings"] = json["notes"] = Json::array();
  const auto add = [&](const char* name, std::uint64_t count) {
    json[name] = json[name].get<std::uint64_t>() + count;
  };
  int code = kDone;
  std::uint64_t told = 0;
  const CheckDepth depth = decodes ? CheckDepth::pixels : CheckDepth::content;
  for_each_split(request, console.events(), [&](const InputRequest& one, const std::string& name) {
    const std::string& path = one.inputs.front();
    const FindingSink sink = [&](Finding finding) {
      if (list != nullptr) list->add(finding);
      if (++told > kToldFindings) return;
      if (console.is_json()) {
        finding.file = name;
        json["first_findings"].push_back(finding_facts(finding));
      } else {
        tell_finding(std::move(finding), path, console);
      }
    };
    const InputCheck check = check_input(one, depth, sink, console.events());
    add("samples", check.samples);
    add("bytes", check.bytes);
    add("findings", check.bad);
    add("undecoded", check.undecoded);
    // Pictures in a format that is not taken are missing from what a conversion writes.
    if (check.bad > 0)
      code = kDamaged;
    else if (code == kDone && check.left_out.count() > 0)
      code = kSomeSkipped;
    std::vector<std::string> notes = check.notes;
    if (check.undecoded > 0) {
      notes.push_back(
          fmt::format("{} images have types that shale has no decoder for: their "
                      "headers and sizes were checked, but not their pixels",
                      format_count(check.undecoded)));
    }
    if (check.left_out.count() > 0)
      notes.push_back("a conversion leaves out " + left_out_text(check.left_out));
    for (const std::string& note : notes) json["notes"].push_back(note);
    if (console.is_json() || console.is_quiet()) return;
    for (const std::string& note : notes) console.print(fmt::format("note: {}\n", note));
    console.print(verdict_text(check, path, decodes));
  });
  if (told > kToldFindings && !console.is_json()) console.more_findings(told - kToldFindings);
  json["ok"] = code == kDone;
  if (console.is_json()) console.report(json, "");
  if (code == kDamaged && !console.is_json() && !console.is_quiet())
    console.hint("replace these files or remove them; a conversion leaves them out and lists them");
  return code;
}

}  // namespace shale::tools
