#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/browse/indexed_join.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_set.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/datasets/rebuild_index.hpp"
#include "shale/datasets/set_index.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/requests/choose_output.hpp"
#include "shale/shards/place.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/native_files.hpp"

namespace shale::tools {
namespace {

std::string report_text(const RebuildReport& report, std::string_view dataset, bool is_plan) {
  std::string text;
  for (const RebuiltShard& shard : report.shards) {
    if (shard.was_whole) continue;
    if (!shard.fault.empty()) {
      text += fmt::format("{}: {}: {}\n", shard.name, is_plan ? "cannot be rebuilt" : "not rebuilt",
                          shard.fault);
      continue;
    }
    const bool are_both = shard.index_written && shard.blocks_written;
    text += fmt::format("{}: {} {}{}{}", shard.name, is_plan ? "would rebuild" : "rebuilt",
                        shard.index_written ? "the index" : "", are_both ? " and " : "",
                        shard.blocks_written ? "the block list" : "");
    text += is_plan ? "\n"
                    : fmt::format("; {} the manifest byte for byte\n",
                                  are_both ? "both match" : "it matches");
  }
  const bool lacks_indexes =
      std::any_of(report.shards.begin(), report.shards.end(),
                  [](const RebuiltShard& shard) { return !shard.has_index; });
  if (lacks_indexes)
    text += "note: rows of one size need no index; only block lists were checked\n";
  if (is_plan) {
    return text + fmt::format("{}: {} intact, {} to rebuild, {} damaged\n", printable(dataset),
                              format_counted(report.whole, "shard is", "shards are"),
                              report.rebuilt, report.failed);
  }
  return text + fmt::format("{}: {} intact before, {} rebuilt, {} damaged\n", printable(dataset),
                            format_counted(report.whole, "shard was", "shards were"),
                            report.rebuilt, report.failed);
}

std::string report_text(const IndexedFile& indexed, const std::string& file,
                        const DatasetPaths& paths, bool is_plan) {
  const Manifest& manifest = indexed.manifest;
  std::string fields;
  for (const Field& field : manifest.schema.fields)
    fields += fmt::format("{}{}", fields.empty() ? "" : ", ", printable(field.name));
  std::string text = fmt::format(
      "{}: {}{} of {} ({})", printable(file), is_plan ? "would index " : "",
      format_counted(manifest.digest.samples, "sample", "samples"), manifest.format, fields);
  // A plan does not know how much payload there is.
  if (!is_plan) text += ", " + payload_text(manifest);
  text += is_plan                         ? "\n"
          : manifest.layout.has_checksums ? ", with checksums\n"
                                          : " (not read; --crc reads it)\n";
  for (const std::string& note : indexed.notes) text += fmt::format("note: {}\n", note);
  return text + fmt::format("  index: {}\n", printable(paths.manifest));
}

int rebuild(const CommandLine& line, Console& console) {
  const std::string& path = line.words()[0];
  if (holds_dataset(path)) {
    refuse_file_options(path, kOwnDataset, line.text_or_none("index-dir"), parsing_option(line));
    if (line.flag("crc")) throw for_files_only("--crc", path, kOwnDataset);
  }
  const bool is_plan = line.flag("dry-run");
  const RebuildReport report = rebuild_index(path, console.events(), is_plan);
  console.report(rebuild_facts(report, is_plan), report_text(report, path, is_plan));
  return report.failed > 0 ? kDamaged : kDone;
}

// The files of several words, or of one that stands for a set.
std::vector<SetMember> files_of_line(const CommandLine& line) {
  std::vector<SetMember> files;
  for (const std::string& word : line.words()) {
    const auto listed = files_of_set(word);
    const std::optional<std::string> file = listed ? std::nullopt : file_of_path(word);
    if (!listed && !file) {
      throw Error(Code::not_found, "is neither a file nor the directory of an LMDB database")
          .at(word)
          .hint("several arguments must be files of other tools; a shale dataset is indexed alone");
    }
    if (file) files.push_back({word, *file});
    if (listed) files.insert(files.end(), listed->begin(), listed->end());
  }
  return files;
}

std::string report_text(const IndexedSet& set, const std::string& name) {
  std::string text = report_text({set.manifest, set.notes}, name, DatasetPaths(), false);
  text.resize(text.rfind("  index: "));
  return text + fmt::format("  files: {} indexed, {} as they were{}\n  index: {}\n",
                            format_count(set.indexed), format_count(set.kept),
                            set.gone > 0 ? fmt::format(", {} gone", format_count(set.gone)) : "",
                            printable(set.index));
}

Json facts_of_set(const IndexedSet& set) {
  DatasetPaths paths;
  paths.manifest = set.index;
  Json json = indexed_file_facts({set.manifest, set.notes}, paths, false);
  json.update({{"indexed", set.indexed}, {"kept", set.kept}, {"gone", set.gone}});
  return json;
}

// As if the set had no index.
int plan_one_set(const SetIndexRequest& request, const std::string& name, Console& console) {
  refuse_place_of_index(request);
  OpenedDataset set = open_dataset({.path = request.path,
                                    .files = request.files,
                                    .parsing = request.parsing,
                                    .generator = request.generator,
                                    .memory_bytes = request.memory_bytes},
                                   console.events());
  DatasetPaths paths;
  paths.manifest =
      join_path(folder_of_set_index(request.path, request.index_folder), kManifestName);
  const std::uint64_t shards = set.shards.size();
  const IndexedFile planned{std::move(set.manifest), std::move(set.notes)};
  std::string text = report_text(planned, name, paths, true);
  text.insert(text.rfind("  index: "), fmt::format("  files: {}\n", format_count(shards)));
  console.report(Json{{"files", Json::array({indexed_file_facts(planned, paths, true)})}}, text);
  return kDone;
}

int index_one_set(const CommandLine& line, std::vector<SetMember> files, Console& console) {
  const bool is_word = line.words().size() == 1;
  const std::string name =
      is_word ? line.words()[0] : fmt::format("{} files", format_count(files.size()));
  const SetIndexRequest request{.path = is_word ? line.words()[0] : std::string(),
                                .files = std::move(files),
                                .index_folder = line.text_or_none("index-dir"),
                                .parsing = parsing_option(line),
                                .with_checksums = line.flag("crc"),
                                .generator = std::string(kGenerator),
                                .memory_bytes = line.memory().value,
                                .jobs = static_cast<unsigned>(line.jobs().value)};
  if (line.flag("dry-run")) return plan_one_set(request, name, console);
  const IndexedSet set = index_set(request, console.events());
  Json facts = facts_of_set(set);
  console.report(Json{{"files", Json::array({std::move(facts)})}}, report_text(set, name));
  return kDone;
}

int index_files(const CommandLine& line, Console& console) {
  const std::vector<SetMember> files = files_of_line(line);
  const std::string folder = line.text_or_none("index-dir");
  refuse_stream(folder);
  const bool is_plan = line.flag("dry-run");
  const bool is_set = files.size() > 1 || holds_set(line.words()[0]);
  if (is_set) return index_one_set(line, files, console);
  Json json = Json::array();
  for (const SetMember& member : files) {
    const std::string& file = member.path;
    const IndexedFile indexed = index_file({.file = file,
                                            .index_folder = folder,
                                            .parsing = parsing_option(line),
                                            .with_checksums = line.flag("crc"),
                                            .generator = std::string(kGenerator),
                                            .memory_bytes = line.memory().value,
                                            .is_only_planned = is_plan},
                                           console.events());
    const DatasetPaths paths = DatasetPaths::of_file(file, folder);
    if (console.is_json())
      json.push_back(indexed_file_facts(indexed, paths, is_plan));
    else
      console.report({}, report_text(indexed, file, paths, is_plan));
  }
  if (console.is_json()) console.report(Json{{"files", json}}, "");
  return kDone;
}

// The indexes of other programs.
int index_natively(const CommandLine& line, Console& console) {
  for (const char* option : {"index-dir", "crc", "parse", "database"}) {
    if (line.has(option)) {
      throw Error(Code::usage,
                  "--native writes the indexes of other programs, and --{} is for "
                  "shale's own",
                  option)
          .hint("run 'shale index' twice: with --native, and without");
    }
  }
  const bool is_plan = line.flag("dry-run");
  const NativeIndexReport report =
      write_native_indexes({.sets = tars_of_words(line.words()),
                            .kinds = parse_native_kinds(line.text("native")),
                            .jobs = static_cast<unsigned>(line.jobs().value),
                            .is_only_planned = is_plan},
                           console.events());
  Json facts{{"native", native_facts(report)},
             {"tars", report.tars},
             {"samples", report.samples},
             {"planned", is_plan},
             {"notes", report.notes}};
  console.report(
      facts, fmt::format("{} of {}\n{}", format_counted(report.samples, "sample", "samples"),
                         format_counted(report.tars, "tar", "tars"), native_text(report, is_plan)));
  return kDone;
}

}  // namespace

int run_index(const CommandLine& line, Console& console) {
  line.require_words_at_least(1);
  if (line.has("native")) return index_natively(line, console);
  if (are_inputs_with_names(line.words())) {
    throw Error(Code::usage,
                "inputs that are joined have no index: they are joined as they are read")
        .hint(
            "pass them to 'shale convert', info, ls, cat, verify or report; or index each file on "
            "its own");
  }
  const bool is_dataset =
      line.words().size() == 1 && !file_of_path(line.words()[0]) && !holds_set(line.words()[0]);
  return is_dataset ? rebuild(line, console) : index_files(line, console);
}

}  // namespace shale::tools
