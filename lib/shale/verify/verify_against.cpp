#include "shale/verify/verify_against.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/tar_stream.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/folders/list_source.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/sources/array_words.hpp"
#include "shale/sources/chosen_fields.hpp"
#include "shale/sources/dataset_source.hpp"
#include "shale/sources/input_request.hpp"
#include "shale/sources/joined_words.hpp"
#include "shale/sources/made_of_folder.hpp"
#include "shale/sources/named_folders.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/sources/settled_keys.hpp"
#include "shale/sources/source_over.hpp"
#include "shale/sources/tars_of_samples.hpp"
#include "shale/verify/compare_arrays.hpp"
#include "shale/verify/compare_remade.hpp"
#include "shale/verify/compare_samples.hpp"
#include "shale/verify/source_verdict.hpp"

namespace shale {
namespace {

// Columns that have other names in the dataset get these; what they were cast to.
FieldChoice rename_columns(std::vector<ArrayColumn>& columns, const Manifest& ours) {
  Schema theirs;
  for (const ArrayColumn& column : columns) theirs.fields.push_back({.name = column.name});
  FieldChoice choice = recorded_choice(option_of(ours, kFieldsOption), theirs, {});
  for (const FieldName& renamed : choice.renamed)
    columns[theirs.find(renamed.of_input).value()].name = renamed.name;
  choice.only = {};
  choice.renamed = {};
  return choice;
}

// The fields of one that another has, or does not have.
std::vector<std::string> fields_of(const Schema& one, const Schema& other, bool has_them) {
  std::vector<std::string> names;
  for (const Field& field : one.fields) {
    if (other.find(field.name).has_value() == has_them) names.push_back(field.name);
  }
  return names;
}

// The names in `theirs` that fields have which `ours` has too, by their own names or by those that
// it was made with.
FieldChoice common_fields(const Manifest& ours, const Manifest& theirs) {
  const std::string recorded = option_of(ours, kFieldsOption);
  if (!recorded.empty())
    return recorded_choice(recorded, theirs.schema, option_of(theirs, kFieldsOption));
  return {.only = fields_of(theirs.schema, ours.schema, true)};
}

// All of these samples are in the source, by the digests of both. What is absent in all of them is
// in no digest.
void judge_by_digests(const Manifest& ours, const DatasetDigest& theirs,
                      std::vector<std::string> fields_besides,
                      std::vector<std::string> fields_uncompared, bool has_other_order_of_fields,
                      VerifyLog& log) {
  log.report().comparison = judge({.same = ours.digest.samples,
                                   .is_damaged = log.damage() > 0,
                                   .is_in_other_order = theirs.ordered != ours.digest.ordered,
                                   .has_other_order_of_fields = has_other_order_of_fields,
                                   .fields_besides = std::move(fields_besides),
                                   .fields_uncompared = std::move(fields_uncompared)},
                                  ours);
}

// Rows that are not as they were written are not read.
bool is_unreadable(const OpenedDataset& dataset, VerifyLog& log) {
  if (log.damage() == 0 || dataset.manifest.layout.rows.has_index()) return false;
  log.report().comparison = {
      .verdict = SourceVerdict::damaged,
      .sentence = "its rows were not compared with those of the source: they are damaged"};
  return true;
}

// Puts columns into the order of the dataset's fields, and takes out those that it does not have,
// if it has all others: their names.
std::vector<std::string> take_common_columns(std::vector<ArrayColumn>& columns,
                                             const Schema& ours) {
  const auto place = [&](const ArrayColumn& column) {
    return ours.find(column.name).value_or(ours.fields.size());
  };
  std::ranges::stable_sort(columns, {}, place);
  const auto rest = std::ranges::find(columns, ours.fields.size(), place);
  std::vector<std::string> besides;
  if (static_cast<std::size_t>(rest - columns.begin()) < ours.fields.size()) return besides;
  for (auto column = rest; column != columns.end(); ++column) besides.push_back(column->name);
  columns.erase(rest, columns.end());
  return besides;
}

void compare_with_arrays(const VerifyRequest& request, const OpenedDataset& dataset,
                         ArrayColumns arrays, VerifyLog& log) {
  const Manifest& ours = dataset.manifest;
  const FieldChoice casts = rename_columns(arrays.columns, ours);
  const auto name = [](const ArrayColumn& column) { return column.name; };
  std::vector<std::string> names;
  std::ranges::transform(arrays.columns, std::back_inserter(names), name);
  std::vector<std::string> besides = take_common_columns(arrays.columns, ours.schema);
  std::erase_if(names, [&](const std::string& one) { return !ours.schema.find(one); });
  // Words on the command line have no order that matters.
  const bool is_reordered =
      request.against.size() == 1 && !std::ranges::equal(arrays.columns, names, {}, name);
  const std::uint64_t findings = log.findings();
  const OpenArrays open = [&](ArrayRequest columns, const Events& events) {
    return make_chosen_fields(open_array_source(std::move(columns), events), casts,
                              request.against.front());
  };
  const DatasetDigest theirs = digest_of_arrays(ours, request, arrays, log, open);
  if (log.findings() > findings) {
    log.report().comparison = {.verdict = SourceVerdict::different,
                               .findings = log.findings() - findings,
                               .sentence = "elements in the source's files are others"};
    return;
  }
  if (theirs.samples == ours.digest.samples && theirs.content == ours.digest.content)
    return judge_by_digests(ours, theirs, std::move(besides), {}, is_reordered, log);
  if (is_unreadable(dataset, log)) return;
  const std::unique_ptr<Source> source = open({.arrays = std::move(arrays),
                                               .scratch_folder = temporary_folder(),
                                               .memory_bytes = request.memory_bytes / 4},
                                              log.events());
  compare_samples(*source,
                  {.request = request,
                   .dataset = dataset,
                   .against = request.against.front(),
                   .joined_by = JoinedBy::content,
                   .fields_besides = std::move(besides),
                   .has_other_order_of_fields = is_reordered},
                  log);
}

// Along which its input was read.
std::vector<SampleAxis> axes_of(const Manifest& manifest) {
  const std::string axes = option_of(manifest, kAxisOption);
  return axes.empty() ? std::vector<SampleAxis>() : parse_axes(axes);
}

// Where not all arrays go together, or can be read, those that became fields; `others` then says
// what is wrong with the rest.
std::optional<ArrayColumns> find_compared_arrays(const VerifyRequest& request, const Manifest& ours,
                                                 std::string& others, const Events& events) {
  ArrayChoice choice{.axes = axes_of(ours), .reading = {.raw = recorded_raw(ours, request.raw)}};
  const std::vector<std::string> words =
      words_as_indexed(request.against, request.index_folder, choice.reading.raw, events).words;
  try {
    return find_array_columns(words, choice);
  } catch (const Error& error) {
    if (error.code() == Code::usage || error.code() == Code::io) throw;
    try {
      choice.fields = names_in_input(ours);
      others = error.message();
      return find_array_columns(words, choice);
    } catch (const Error& again) {
      if (again.code() != Code::usage) throw;
    }
    throw;  // a field is not there
  }
}

OpenedDataset open_compared_dataset(const VerifyRequest& request, const Manifest& ours,
                                    const Events& events) {
  const std::string& against = request.against.front();
  const bool is_own = look_at(against) == Place::dataset;
  // As it was converted; a file of the same format is read as this one.
  Parsing parsing = is_own ? Parsing() : recorded_parsing(ours);
  if (const std::optional<std::string> file = file_of_path(against); file && !is_own) {
    const Format* const format = detect_file(InputFile(*file));
    const bool is_alike = format != nullptr && format->name == ours.format;
    if (is_alike && ours.layout.dialect != Dialect::own) parsing = parsing_of(ours.layout);
    // It may be of another format than the one that the dataset was made from.
    if (format == nullptr || !takes_parsing(*format, parsing)) parsing = {};
  }
  return open_dataset(
      {.path = against,
       .files = request.against.size() > 1
                    ? files_of_words(request.against).value_or(std::vector<SetMember>())
                    : std::vector<SetMember>(),
       .index_folder = is_own ? "" : request.index_folder,
       .parsing = parsing,
       .with_checksums = true,
       .generator = request.generator,
       .memory_bytes = request.memory_bytes,
       .unpacking = Unpacking::fully,
       .fields = names_in_input(ours),
       .axes = is_own ? std::vector<SampleAxis>() : axes_of(ours)},
      events);
}

// Of two datasets the digests say whether they hold the same samples under the same keys; if they
// do not, the samples themselves say what differs.
void compare_datasets(const VerifyRequest& request, const OpenedDataset& dataset,
                      const OpenedDataset& source, VerifyLog& log) {
  const Manifest& ours = dataset.manifest;
  const Manifest& theirs = source.manifest;
  const bool has_both = ours.layout.has_checksums && theirs.layout.has_checksums;
  const JoinedBy by = joined_by(ours, theirs.layout.has_keys && theirs.schema.has_keys);
  const bool has_same_keys = by == JoinedBy::content || ours.digest.keys == theirs.digest.keys;
  if (has_both && has_same_keys && ours.digest.samples == theirs.digest.samples &&
      ours.digest.content == theirs.digest.content)
    return judge_by_digests(ours, theirs.digest, fields_of(theirs.schema, ours.schema, false),
                            fields_of(ours.schema, theirs.schema, false), false, log);
  if (is_unreadable(dataset, log)) return;
  FieldChoice common = common_fields(ours, theirs);
  std::vector<std::string> besides;
  for (const Field& field : theirs.schema.fields) {
    if (std::ranges::find(common.only, field.name) == common.only.end())
      besides.push_back(field.name);
  }
  if (common.only.empty()) {
    throw Error(Code::mismatch, "has none of the fields of the dataset")
        .at(request.against.front())
        .hint("'shale info' lists the fields of both");
  }
  const FieldChoice renamed{.renamed = std::move(common.renamed),
                            .casts = std::move(common.casts),
                            .is_lossy = common.is_lossy};
  if (besides.empty() && renamed.is_empty()) common.only.clear();
  const std::unique_ptr<Source> samples = make_chosen_fields(
      make_dataset_source(source, {.fields = common}), renamed, request.against.front());
  const bool does_image_work = !ours.transform.empty() && theirs.transform != ours.transform;
  if (does_image_work && by == JoinedBy::content && other_codec(ours.transform))
    return compare_what_went_in(ours, *samples, request, log);
  compare_samples(*samples,
                  {.request = request,
                   .dataset = dataset,
                   .against = request.against.front(),
                   .joined_by = by,
                   .does_image_work = does_image_work,
                   .fields_besides = std::move(besides)},
                  log);
}

// What no field takes was not compared, and the samples are not all that the source holds.
void say_what_it_has_besides(const LeftOutList& left_out, VerifyLog& log) {
  std::string& sentence = log.report().comparison.sentence;
  if (left_out.count() > 0 && !sentence.empty())
    sentence += "; besides, the source has " + left_out_text(left_out);
}

void compare_with_dataset(const VerifyRequest& request, const OpenedDataset& dataset,
                          VerifyLog& log) {
  OpenedDataset source = open_compared_dataset(request, dataset.manifest, log.events());
  const bool has_keys = source.manifest.layout.is_of_one_file() && source.manifest.layout.has_keys;
  const bool has_same_keys = source.manifest.digest.keys == dataset.manifest.digest.keys;
  if (has_keys && (source.shards.size() > 1 || !has_same_keys)) {
    try {
      settle_keys(source, temporary_folder(), [&] { log.events().stop_if_asked(); });
    } catch (const Error& error) {
      // One file with a key twice: the comparison says what comes of it.
      if (source.shards.size() > 1 || error.code() != Code::schema) throw;
    }
  }
  compare_datasets(request, dataset, source, log);
  // What a dataset of shale has left out is not there any more.
  if (source.manifest.layout.is_of_one_file())
    say_what_it_has_besides(source.manifest.left_out, log);
}

// A tar of samples that comes through a pipe, if it is one.
std::optional<KeptSamples> keep_source(VerifyRequest& request, const Events& events) {
  InputRequest input;
  input.inputs = request.against;
  input.stdin_copy = request.stdin_copy;
  input.memory_bytes = request.memory_bytes;
  std::optional<KeptSamples> kept = keep_samples(input, events);
  request.against = std::move(input.inputs);
  return kept;
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

// Files as the samples of a tar of WebDataset's that was made of them: their names up to the first
// dot are its keys.
class NamesToTheDot final : public SourceOver {
 public:
  explicit NamesToTheDot(std::unique_ptr<Source> source) : SourceOver(std::move(source)) {}

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    std::optional<PendingSample> sample = source_->next(most_rows);
    if (!sample) take_totals();
    if (sample) sample->key.resize(std::min(sample->key.size(), end_of(sample->key)));
    return sample;
  }

 private:
  static std::size_t end_of(const std::string& key) {
    const std::size_t slash = key.rfind('/');
    return key.find('.', slash == std::string::npos ? 0 : slash);
  }
};

// Without the fields that the dataset does not have, such as the text of a number.
std::unique_ptr<Source> as_samples_of_tar(std::unique_ptr<Source> source, const Manifest& manifest,
                                          const std::string& against) {
  const FieldChoice common{.only = fields_of(source->info().schema, manifest.schema, true)};
  return std::make_unique<NamesToTheDot>(make_chosen_fields(std::move(source), common, against));
}

// By their keys, or where the dataset has none by their content.
void compare_files(Source& source, const VerifyRequest& request, const OpenedDataset& dataset,
                   const std::string& against, bool compares_labels, VerifyLog& log) {
  const Manifest& manifest = dataset.manifest;
  const JoinedBy by = joined_by(manifest, true);
  if (by == JoinedBy::content && !manifest.transform.empty() && other_codec(manifest.transform))
    return compare_what_went_in(manifest, source, request, log);
  if (is_unreadable(dataset, log)) return;
  compare_samples(source,
                  {.request = request,
                   .dataset = dataset,
                   .against = against,
                   .joined_by = by,
                   .compares_labels = compares_labels},
                  log);
  say_what_it_has_besides(source.info().left_out, log);
}

void compare_list(const VerifyRequest& request, const OpenedDataset& dataset, VerifyLog& log) {
  const Manifest& manifest = dataset.manifest;
  const bool is_of_frames = holds_frames_of_folder(manifest);
  std::string_view option = is_of_frames ? "a dataset of videos" : "";
  if (!is_of_frames && request.labels.is_given()) option = "--labels";
  if (!option.empty())
    throw Error(Code::usage, "{} and a list of files on stdin exclude each other", option)
        .at(request.dataset)
        .hint(is_of_frames ? "pass the folder of the videos with --against"
                           : "write path<TAB>label in every line");
  std::unique_ptr<Source> source = open_list(
      request.stdin_copy->path(), {.root = "stdin",
                                   .files = recorded_input(manifest, request.dataset, true).files,
                                   .may_mix_labels = !manifest.classes.empty(),
                                   .needs_labels = needs_labels(manifest),
                                   .scratch_folder = temporary_folder(),
                                   .memory_bytes = request.memory_bytes / 4,
                                   .all_memory_bytes = request.memory_bytes,
                                   .stop_if_asked = [&] { log.events().stop_if_asked(); }});
  source = make_recorded_fields(std::move(source), option_of(manifest, kFieldsOption), "stdin");
  const bool has_labels = label_of(source->info().schema, source->info().fields).has_value();
  if (!has_labels && label_of(manifest)) log.note("labels were not compared: the list has none");
  compare_files(*source, request, dataset, "stdin", has_labels, log);
}

// What is gone from there would not be compared.
void refuse_less_metadata(const VerifyRequest& request, const SourceInfo& source,
                          const Manifest& manifest) {
  const std::string was = option_of(manifest, kMetadataOption);
  std::string lacks;
  for (std::size_t i = 0; i < manifest.schema.fields.size(); ++i) {
    const std::string& name = manifest.schema.fields[i].name;
    const bool is_compared = i == label_of(manifest) || source.schema.find(name);
    if (!is_compared && lacks.empty()) lacks = fmt::format("nothing for '{}'", printable(name));
  }
  if (source.metadata.empty()) lacks = "none here";
  if (lacks.empty() && source.metadata != was) lacks = "other labels";
  if (lacks.empty()) return;
  throw Error(Code::mismatch,
              "the dataset has fields from metadata.csv or metadata.jsonl, but there is {}", lacks)
      .at(request.against.front())
      .hint("pass the folder as it was when it was converted");
}

// A dataset has no folders but its own, hidden one; among images a name may be anything.
bool has_folders(const std::string& path) {
  std::error_code ignored;
  return std::ranges::any_of(std::filesystem::directory_iterator(path, ignored), [&](auto& entry) {
    return entry.is_directory(ignored) && !entry.path().filename().string().starts_with('.');
  });
}

// The folder of one would pass for a folder of files that are not samples.
void refuse_partial_dataset(const std::string& against) {
  const Place place = look_at(against);
  if (place == Place::unfinished) throw unfinished(against);
  if (place == Place::other_folder && has_shards(against) && !has_folders(against))
    throw unrecognized(against);
}

// Of a folder, an archive, a stream, or of folders that are joined.
void compare_with_files(VerifyRequest request, const OpenedDataset& dataset,
                        const std::optional<StreamPath>& stream, std::unique_ptr<InputStream> input,
                        VerifyLog& log) {
  const Manifest& manifest = dataset.manifest;
  std::vector<NamedFolder> folders =
      as_recorded(find_named_folders(request.against), option_of(manifest, kFoldersOption));
  if (!folders.empty()) request.against = {folders.front().root};
  const std::string& against = request.against.front();
  if (!holds_files_of_folder(manifest, folders)) {
    throw Error(Code::unsupported, "a {} cannot be compared with a {}", manifest.source.kind,
                stream ? "stream" : "folder")
        .at(request.dataset)
        .hint(stream ? "write what it gives into a file, and compare with that"
                     : "convert the folder to another file in the same way, and compare the two "
                       "files");
  }
  if (stream && !request.labels.pattern.empty())
    throw Error(Code::usage, "--label-from is not for a stream").at(request.dataset);
  const InputRequest recorded = recorded_input(manifest, request.dataset, true);
  if (!request.labels.is_given() && !stream) request.labels = recorded.labels;
  const bool is_of_frames = holds_frames_of_folder(manifest);
  const std::string metadata = option_of(manifest, kMetadataOption);
  // Of another tool: nothing is recorded of the files that it was made of.
  const bool is_of_tars = manifest.layout.dialect == Dialect::webdataset;
  const bool is_unlabelled =
      !is_of_frames && !request.labels.is_given() &&
      (is_of_tars || is_of_flat_folder(dataset) || (is_of_list(manifest) && !label_of(manifest)));
  const bool compares_labels = !is_unlabelled || metadata == kMetadataWithLabels;
  FileRequest files = recorded.files;
  if (manifest.layout.dialect == Dialect::coclr) files.frame_order = FrameOrder::bytewise;
  if (is_of_tars) files.pairs.policy = PairPolicy::on;
  if (is_of_frames || !folders.empty()) files.pairs.suffixes.clear();
  if (is_of_frames) files.pairs.takes_metadata = false;
  FolderRequest folder{.root = against,
                       .labels = request.labels,
                       .files = std::move(files),
                       .may_mix_labels = !manifest.classes.empty(),
                       .without_labels = is_unlabelled,
                       .needs_labels = find_input_field(manifest, kLabelField) != nullptr,
                       .on_damage = manifest.skipped > 0 ? OnDamage::leave_out : OnDamage::stop,
                       .scratch_folder = temporary_folder(),
                       .memory_bytes = request.memory_bytes / 4,
                       .all_memory_bytes = request.memory_bytes,
                       .stop_if_asked = [&] { log.events().stop_if_asked(); },
                       .folders = std::move(folders)};
  std::unique_ptr<Source> source;
  if (stream) {
    source = open_compared_stream(*stream, std::move(input), folder, dataset);
  } else {
    folder.tree = open_tree_of_archive(folder);
    source = is_of_frames ? open_frames(folder) : open_folder(folder);
  }
  std::vector<FieldName> fields = field_names_of(option_of(manifest, kFieldsOption));
  // Labels that were cast have no class names, and without them a stream gives no numbers.
  const bool has_no_numbers = stream && request.labels.path.empty() && manifest.classes.empty() &&
                              fields.size() > 1 && !label_of(manifest);
  if (has_no_numbers && std::erase_if(fields, [](const FieldName& field) {
                          return field.of_input == kLabelField;
                        }) > 0)
    log.note(
        "labels were not compared: they were cast, and the class folders of the stream have no "
        "numbers");
  source = make_recorded_fields(std::move(source), field_names_text(fields), against);
  if (is_of_tars) source = as_samples_of_tar(std::move(source), manifest, against);
  if (!metadata.empty()) refuse_less_metadata(request, source->info(), manifest);
  if (!compares_labels && metadata.empty() && label_of(manifest))
    log.note(recorded.labels.is_given()
                 ? "labels were not compared: --label-from is not for a stream"
                 : "labels were not compared: pass --labels with the file that has them");
  compare_files(*source, request, dataset, against, compares_labels, log);
}

// Opened as 'convert' opens them.
void compare_with_join(const VerifyRequest& request, const OpenedDataset& dataset, VerifyLog& log) {
  const Manifest& manifest = dataset.manifest;
  if (is_unreadable(dataset, log)) return;
  InputRequest input;
  input.inputs = request.against;
  input.generator = request.generator;
  input.labels = request.labels;
  input.files.allow_empty = true;
  input.container = {.index_folder = request.index_folder, .parsing = recorded_parsing(manifest)};
  input.join = request.join;
  input.axes = axes_of(manifest);
  input.raw = recorded_raw(manifest, request.raw);
  input.memory_bytes = request.memory_bytes;
  std::unique_ptr<Source> source = open_input(input, temporary_folder(), log.events());
  const std::vector<std::string> names = names_in_input(manifest);
  std::vector<std::string> common, besides;
  for (const Field& field : source->info().schema.fields)
    (std::ranges::find(names, field.name) != names.end() ? common : besides).push_back(field.name);
  if (const std::string recorded = option_of(manifest, kFieldsOption); !recorded.empty()) {
    input.fields = recorded_choice(recorded, source->info().schema, source->info().fields);
  } else if (!besides.empty() && !common.empty()) {
    input.fields.only = std::move(common);
  }
  if (!input.fields.is_empty()) source = open_input(input, temporary_folder(), log.events());
  compare_samples(*source,
                  {.request = request,
                   .dataset = dataset,
                   .against = request.against.front(),
                   .joined_by = joined_by(manifest, source->info().schema.has_keys),
                   .fields_besides = std::move(besides)},
                  log);
  say_what_it_has_besides(source->info().left_out, log);
}

}  // namespace

void verify_against(const VerifyRequest& request, const OpenedDataset& dataset, VerifyLog& log) {
  const Manifest& manifest = dataset.manifest;
  if (are_files_samples(request.against, suffixes_of(manifest)))
    return compare_with_files(request, dataset, std::nullopt, nullptr, log);
  if (!find_joined_groups(request.against).empty()) return compare_with_join(request, dataset, log);
  const std::string names = option_of(manifest, kFoldersOption);
  const std::vector<NamedFolder> folders = as_recorded(find_named_folders(request.against), names);
  std::string others;
  if (std::optional<ArrayColumns> arrays =
          folders.empty() ? find_compared_arrays(request, manifest, others, log.events())
                          : std::nullopt) {
    const LeftOutList left_out = std::move(arrays->left_out);
    compare_with_arrays(request, dataset, std::move(*arrays), log);
    if (!others.empty())
      log.report().comparison.sentence += "; its other arrays were not compared: " + others;
    return say_what_it_has_besides(left_out, log);
  }
  if (request.against.size() > 1 && files_of_words(request.against))
    return compare_with_dataset(request, dataset, log);
  if (request.against.size() > 1 && folders.empty()) {
    throw Error(Code::usage, "--against is given {} times, but not with arrays",
                request.against.size())
        .at(request.against.front())
        .hint(
            "repeat it for arrays, --against x=a.npy --against y=b.npy, or for folders that are "
            "joined, --against image=photos --against mask=masks");
  }
  const std::string& against = request.against.front();
  if (folders.empty()) refuse_partial_dataset(against);
  const TarsAs as = tars_of_source(manifest);
  VerifyRequest from_kept = request;
  if (const auto kept = as == TarsAs::found ? keep_source(from_kept, log.events()) : std::nullopt)
    return compare_with_dataset(from_kept, dataset, log);
  const bool is_archive = archive_of_path(against, as).has_value();
  const std::optional<StreamPath> stream = is_archive ? std::nullopt : stream_of_path(against, as);
  const bool is_of_folder =
      !folders.empty() || is_archive || stream ||
      (look_at(against) != Place::dataset && !file_of_path(against) && !holds_set(against));
  // Of folders that are joined, one alone says nothing of the files in the others.
  if (is_of_folder && !names.empty() && names != names_text(folders))
    throw not_the_folders(request.dataset, names, "--against");
  if (!is_of_folder) return compare_with_dataset(request, dataset, log);
  // stdin is opened once: it is a list, which is kept, or an archive.
  std::unique_ptr<InputStream> input = request.stdin_copy->take_opened();
  if (stream && is_stdin(*stream) && !request.stdin_copy->is_whole()) {
    if (!input)
      input =
          std::make_unique<InputStream>(std::string(kStdin), [&] { log.events().stop_if_asked(); });
    if (keep_if_list(*request.stdin_copy, *input)) input.reset();
  }
  if (stream && is_stdin(*stream) && request.stdin_copy->is_whole())
    return compare_list(request, dataset, log);
  try {
    compare_with_files(request, dataset, stream, std::move(input), log);
  } catch (const Error& error) {  // its folders are not the classes: it may have other samples
    if (error.code() != Code::bad_content || !is_input_of_samples(against)) throw;
    compare_with_dataset(request, dataset, log);
  }
}

}  // namespace shale
