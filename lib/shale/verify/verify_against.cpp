#include "shale/verify/verify_against.hpp"

#include <algorithm>
#include <utility>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/tar_stream.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/folders/list_source.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/sources/input_request.hpp"
#include "shale/sources/named_folders.hpp"
#include "shale/verify/compare_arrays.hpp"
#include "shale/verify/compare_by_key.hpp"
#include "shale/verify/compare_remade.hpp"

namespace shale {
namespace {

constexpr std::string_view kComparesAll =
    "the dataset was made with --select, --exclude or --split, but datasets and arrays are "
    "compared as a "
    "whole";

// Two datasets: the digests say whether they hold the same samples under the same keys.
void compare_digests(const Manifest& ours, const VerifyRequest& request, const FindingSink& sink,
                     const Events& events) {
  const std::string& against = request.against.front();
  const bool is_own = look_at(against) == Place::dataset;
  const Manifest theirs = open_dataset({.path = against,
                                        .index_folder = is_own ? "" : request.index_folder,
                                        .dialect = is_own || ours.layout.dialect == Dialect::own
                                                       ? std::nullopt
                                                       : std::optional(ours.layout.dialect),
                                        .with_checksums = true,
                                        .generator = request.generator,
                                        .memory_bytes = request.memory_bytes},
                                       events)
                              .manifest;
  if (!ours.layout.has_checksums) {
    throw Error(Code::usage, "--against compares digests, but the index has none")
        .at(request.dataset)
        .hint(fmt::format(
            "run '{}' to add them",
            index_command(request.dataset, request.index_folder, ours.layout.dialect, true)));
  }
  compare_samples(ours.digest, theirs.digest, printable(against), sink);
  if (ours.layout.has_keys && theirs.layout.has_keys) {
    compare_fact("key digest", ours.digest.keys.hex(), theirs.digest.keys.hex(), printable(against),
                 sink);
  }
}

// Whether the dataset, or the one that it is a copy of, was made from a flat folder.
bool is_of_flat_folder(const OpenedDataset& dataset) {
  const Manifest& manifest = dataset.manifest;
  const ManifestSource& source = manifest.source;
  if (!source.origin.empty()) return source.origin == kFlatFolder;
  if (source.kind != kDatasetKind) return source.kind == kFlatFolder;
  // A copy made before origins were recorded: its first key tells whether folders are classes.
  if (dataset.shards.size() == 0 || !manifest.layout.has_keys) return false;
  const ShardReader shard(dataset.paths, manifest, dataset.shards[0]);
  const FieldPlace place = shard.open_index().row(0).key;
  std::vector<std::byte> key(place.length);
  shard.file_of_key().read_exact(place.offset, key);
  const std::string_view folder = as_text(key).substr(0, as_text(key).find('/'));
  return std::find(manifest.classes.begin(), manifest.classes.end(), folder) ==
         manifest.classes.end();
}

bool is_field(const Schema& schema, std::string_view name, Kind kind) {
  const std::optional<std::size_t> field = schema.find(name);
  return field && schema.fields[*field].kind == kind;
}

// Whoever wrote the file: what a folder of videos becomes.
bool holds_frames_of_folder(const Manifest& manifest) {
  const ManifestSource& source = manifest.source;
  return is_field(manifest.schema, "frames", Kind::list) &&
         (manifest.layout.is_of_one_file() || source.kind == kVideoFrames ||
          source.origin == kVideoFrames);
}

std::string suffixes_of(const Manifest& manifest) { return option_of(manifest, kSuffixesOption); }

// Whoever wrote the file: what a folder becomes, or several that are joined.
bool holds_files_of_folder(const Manifest& manifest, const std::vector<NamedFolder>& folders) {
  if (!manifest.layout.is_of_one_file()) return true;
  const Schema& schema = manifest.schema;
  const std::string field =
      folders.empty() ? SoughtFiles(suffixes_of(manifest)).field() : folders.front().field;
  return manifest.layout.has_keys &&
         (is_field(schema, field, Kind::bytes) || holds_frames_of_folder(manifest)) &&
         (!schema.find("label") || is_field(schema, "label", Kind::integer));
}

std::unique_ptr<Source> open_compared_stream(const StreamPath& path,
                                             std::unique_ptr<InputStream> input,
                                             FolderRequest request, const OpenedDataset& dataset) {
  const Manifest& manifest = dataset.manifest;
  if (holds_frames_of_folder(manifest))
    throw not_for_stream(request.root, "a comparison of videos");
  if (!request.files.pairs.suffixes.empty())
    throw not_for_stream(request.root, "a comparison of samples of several files");
  request.classes.names = manifest.classes;
  request.classes.names_from = dataset.paths.manifest;
  request.takes_unknown_classes = true;
  request.most_sample_bytes = request.all_memory_bytes / 4;
  request.memory_bytes = request.all_memory_bytes / 16;
  request.all_memory_bytes = memory_beside_keys(request.all_memory_bytes);
  OpenedStream opened =
      open_stream(path, std::move(input), request.all_memory_bytes, request.stop_if_asked);
  return open_tar_stream(path, std::move(opened), request);
}

void note_left_out(const Manifest& manifest, std::uint64_t left_out,
                   std::vector<std::string>& notes) {
  if (!has_chosen_samples(manifest)) return;
  notes.push_back(fmt::format(
      "{} of the source are not in the dataset, which was made with --select, --exclude or "
      "--split",
      format_counted(left_out, "sample", "samples")));
}

void note_runs(const Manifest& manifest, std::string_view source, std::vector<std::string>& notes) {
  if (manifest.runs.empty()) return;
  notes.push_back(
      fmt::format("the dataset was appended to and holds the samples of {} inputs: the {} "
                  "must have them all",
                  manifest.runs.size(), source));
}

// Of a single file, which does not say where its fields are from, and against a list of files.
void note_uncompared(const Manifest& manifest, const SourceInfo& source,
                     std::vector<std::string>& notes) {
  std::string names;
  for (const Field& field : manifest.schema.fields) {
    if (field.name == "label" || source.schema.find(field.name)) continue;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", printable(field.name));
  }
  if (!names.empty())
    notes.push_back(fmt::format("not compared, because they are not in the source: {}", names));
}

void compare_list(const VerifyRequest& request, const OpenedDataset& dataset,
                  const FindingSink& sink, const Events& events, std::vector<std::string>& notes) {
  const Manifest& manifest = dataset.manifest;
  const bool is_of_frames = holds_frames_of_folder(manifest);
  const std::string_view option = is_of_frames                   ? "a dataset of videos"
                                  : !request.labels_file.empty() ? "--labels"
                                                                 : "";
  if (!option.empty()) {
    throw Error(Code::usage, "{} and a list of files on stdin exclude each other", option)
        .at(request.dataset)
        .hint(is_of_frames ? "pass the folder of the videos with --against"
                           : "write path<TAB>label in every line");
  }
  const std::unique_ptr<Source> source =
      open_list(request.stdin_copy->path(),
                {.root = "stdin",
                 .files = {.suffixes = suffixes_of(manifest), .allow_empty = true},
                 .may_mix_labels = !manifest.classes.empty(),
                 .scratch_folder = temporary_folder(),
                 .memory_bytes = request.memory_bytes / 4,
                 .all_memory_bytes = request.memory_bytes,
                 .stop_if_asked = [&] { events.stop_if_asked(); }});
  const bool has_labels = source->info().schema.find("label").has_value();
  note_runs(manifest, "list", notes);
  if (!has_labels && manifest.schema.find("label"))
    notes.emplace_back("labels were not compared: the list has none");
  note_uncompared(manifest, source->info(), notes);
  const ComparedKeys compared = compare_by_key(
      *source,
      {.request = request, .dataset = dataset, .against = "stdin", .compares_labels = has_labels},
      sink, events, notes);
  note_left_out(manifest, compared.left_out, notes);
}

// What is gone from there would not be compared.
void refuse_less_metadata(const VerifyRequest& request, const SourceInfo& source,
                          const Manifest& manifest) {
  const std::string was = option_of(manifest, kMetadataOption);
  std::string lacks;
  for (const Field& field : manifest.schema.fields) {
    const bool is_compared = field.name == "label" || source.schema.find(field.name);
    if (!is_compared && lacks.empty())
      lacks = fmt::format("nothing for '{}'", printable(field.name));
  }
  if (source.metadata.empty()) lacks = "none here";
  if (lacks.empty() && source.metadata != was) lacks = "other labels";
  if (lacks.empty()) return;
  throw Error(Code::mismatch,
              "the dataset has fields from metadata.csv or metadata.jsonl, but there is {}", lacks)
      .at(request.against.front())
      .hint("pass the folder as it was when it was converted");
}

// Of a folder, an archive, a stream, or of folders that are joined.
void compare_with_files(VerifyRequest request, const OpenedDataset& dataset,
                        const std::optional<StreamPath>& stream, std::unique_ptr<InputStream> input,
                        const FindingSink& sink, const Events& events,
                        std::vector<std::string>& notes) {
  const Manifest& manifest = dataset.manifest;
  std::vector<NamedFolder> folders = find_named_folders(request.against);
  if (!folders.empty()) request.against = {folders.front().root};
  const std::string& against = request.against.front();
  if (!holds_files_of_folder(manifest, folders)) {
    throw Error(Code::unsupported, "a {} cannot be compared with a folder", manifest.source.kind)
        .at(request.dataset)
        .hint("convert it, and compare the result");
  }
  const bool is_of_frames = holds_frames_of_folder(manifest);
  const std::string metadata = option_of(manifest, kMetadataOption);
  const bool is_unlabelled =
      !is_of_frames && request.labels_file.empty() && is_of_flat_folder(dataset);
  const bool compares_labels = !is_unlabelled || metadata == kMetadataWithLabels;
  FileRequest files = recorded_input(manifest, request.dataset, true).files;
  if (manifest.layout.dialect == Dialect::coclr) files.frame_order = FrameOrder::bytewise;
  if (is_of_frames || !folders.empty()) files.pairs.suffixes.clear();
  if (is_of_frames) files.pairs.takes_metadata = false;
  FolderRequest folder{.root = against,
                       .labels = {request.labels_file, request.label_column, request.key_column},
                       .files = std::move(files),
                       .may_mix_labels = !manifest.classes.empty(),
                       .without_labels = is_unlabelled,
                       .scratch_folder = temporary_folder(),
                       .memory_bytes = request.memory_bytes / 4,
                       .all_memory_bytes = request.memory_bytes,
                       .stop_if_asked = [&] { events.stop_if_asked(); },
                       .folders = std::move(folders)};
  std::unique_ptr<Source> source;
  if (stream) {
    source = open_compared_stream(*stream, std::move(input), folder, dataset);
  } else {
    folder.tree = open_tree_of_archive(folder);
    source = is_of_frames ? open_frames(folder) : open_folder(folder);
  }
  if (!metadata.empty()) refuse_less_metadata(request, source->info(), manifest);
  note_uncompared(manifest, source->info(), notes);
  note_runs(manifest, "folder", notes);
  if (!compares_labels && metadata.empty())
    notes.push_back("labels were not compared: pass --labels with the file that has them");
  const ComparedKeys compared = compare_by_key(*source,
                                               {.request = request,
                                                .dataset = dataset,
                                                .against = against,
                                                .compares_labels = compares_labels},
                                               sink, events, notes);
  if (compared.has_unknown_labels) {
    notes.emplace_back(
        "labels were not compared: the dataset has no names of classes, and the class folders of "
        "the stream have no numbers");
  }
  note_left_out(manifest, compared.left_out, notes);
}

}  // namespace

void verify_against(const VerifyRequest& request, const OpenedDataset& dataset,
                    const FindingSink& sink, const Events& events,
                    std::vector<std::string>& notes) {
  const Manifest& manifest = dataset.manifest;
  if (manifest.part) {
    throw Error(Code::unsupported,
                "is part {} of {}, which cannot be compared with the whole input",
                manifest.part->index, manifest.part->count)
        .at(request.dataset)
        .hint("merge the parts, and compare the result");
  }
  const std::vector<NamedFolder> folders = find_named_folders(request.against);
  if (const std::optional<ArrayColumns> arrays =
          folders.empty() ? find_array_columns(request.against, {}) : std::nullopt) {
    if (has_chosen_samples(manifest)) notes.emplace_back(kComparesAll);
    return compare_arrays(manifest, request, *arrays, sink, events, notes);
  }
  if (request.against.size() > 1 && folders.empty()) {
    throw Error(Code::usage, "--against is given {} times, but not with arrays",
                request.against.size())
        .at(request.against.front())
        .hint(
            "repeat it for arrays, --against x=a.npy --against y=b.npy, or for folders that are "
            "joined, --against image=photos --against mask=masks");
  }
  const std::string& against = request.against.front();
  const bool is_archive = archive_of_path(against).has_value();
  const std::optional<StreamPath> stream = is_archive ? std::nullopt : stream_of_path(against);
  const bool is_of_folder = !folders.empty() || is_archive || stream ||
                            (look_at(against) != Place::dataset && !file_of_path(against));
  // Of folders that are joined, one alone says nothing of the files in the others.
  const std::string names = option_of(manifest, kFoldersOption);
  if (is_of_folder && !names.empty() && names != names_text(folders))
    throw not_the_folders(request.dataset, names, "--against");
  if (is_remade(dataset, request, is_of_folder, events)) {
    if (has_chosen_samples(manifest)) notes.emplace_back(kComparesAll);
    return compare_remade(dataset, request, sink, events, notes);
  }
  if (!is_of_folder) {
    if (has_chosen_samples(manifest)) notes.emplace_back(kComparesAll);
    compare_digests(manifest, request, sink, events);
    return;
  }
  // stdin is opened once: it is a list, which is kept, or an archive.
  std::unique_ptr<InputStream> input;
  if (stream && is_stdin(*stream) && !request.stdin_copy->is_whole()) {
    input = std::make_unique<InputStream>(std::string(kStdin), [&] { events.stop_if_asked(); });
    if (keep_if_list(*request.stdin_copy, *input)) input.reset();
  }
  const bool is_list = stream && is_stdin(*stream) && request.stdin_copy->is_whole();
  if (is_list) return compare_list(request, dataset, sink, events, notes);
  compare_with_files(request, dataset, stream, std::move(input), sink, events, notes);
}

}  // namespace shale
