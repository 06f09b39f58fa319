#include "shale/verify/verify_against.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/shards/csv.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/naming.hpp"
#include "shale/shards/open_shards.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/archive_tree.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/sources/file_pairs.hpp"
#include "shale/sources/frames_source.hpp"
#include "shale/sources/sample_choice.hpp"
#include "shale/sources/sought_files.hpp"
#include "shale/sources/tar_stream.hpp"
#include "shale/verify/compare_pairs.hpp"
#include "shale/verify/compare_remade.hpp"
#include "shale/verify/compared_entry.hpp"

// Both sides are lists of (key, where): one of the source's files, one of the set's rows and of
// what was skipped. Sorted by key they are joined; the pairs are compared byte by byte in the
// workers.

namespace shale {
namespace {

constexpr std::size_t kPairsAtOnce = 64;
constexpr std::string_view kComparesAll =
    "the dataset was made with --select, --exclude or --split, but datasets and arrays are "
    "compared as a "
    "whole";
constexpr std::uint64_t kSkipped = ~std::uint64_t{0};
constexpr std::uint64_t kLacksSomething = 1;  // of a sample of the source: ComparedEntry::second

HiddenPolicy hidden_policy_of(const Manifest& manifest) {
  for (const auto& [name, value] : manifest.options) {
    if (name == "hidden" && value == "keep") return HiddenPolicy::keep;
  }
  return HiddenPolicy::skip;
}

bool keeps_bad(const Manifest& manifest) {
  return std::ranges::any_of(manifest.options, [](const auto& option) {
    return option.first == "on_error" && option.second == "keep";
  });
}

class Comparison {
 public:
  Comparison(const VerifyRequest& request, const OpenedDataset& dataset,
             std::shared_ptr<FileTree> archive, bool compares_labels, const ComparedWork& work,
             const FindingSink& sink, const Events& events)
      : request_(request),
        tree_(std::move(archive)),
        manifest_(dataset.manifest),
        shards_(dataset.shards),
        compares_labels_(compares_labels),
        compares_payload_(!work.is_by_other_codec),
        sink_(sink),
        events_(events),
        open_(dataset.paths, manifest_, shards_),
        transform_(work.transform),
        pipeline_(std::max(1U, request.jobs)) {}

  /// The samples of the source that a dataset of chosen samples left out.
  [[nodiscard]] std::uint64_t run(Source& source) {
    const std::uint64_t list_bytes = std::max<std::uint64_t>(1 << 20, request_.memory_bytes / 4);
    const std::string scratch = temporary_folder();
    ExternalSorter theirs(scratch, list_bytes), ours(scratch, list_bytes);
    find_fields(source.info());
    list_source(source, theirs);
    list_dataset(ours);
    join(theirs, ours);
    submit();
    drain(0);
    if (how_.archive) how_.archive->refuse_changes();
    return left_out_;
  }

 private:
  void list_source(Source& source, ExternalSorter& list) {
    const std::optional<std::size_t> label = source.info().schema.find("label");
    while (const std::optional<PendingSample> sample = source.next(1)) {
      events_.stop_if_asked();
      const std::int64_t number = label ? sample->cells[*label].integer : 0;
      const std::uint64_t more = sample->lacks.empty() ? 0 : kLacksSomething;
      std::string entry = entry_of(sample->key, static_cast<std::uint64_t>(number), more);
      // Of a list they are its frames, which the folder tells.
      if (how_.frames == nullptr) append_files(entry, *sample);
      list.add(entry);
    }
    list.finish();
  }

  // u64 offset, u64 bytes of the file with the key's name; of each file behind it u32 field of the
  // dataset, u64 offset, u64 bytes, u32 length, path.
  void append_files(std::string& entry, const PendingSample& sample) const {
    for (const PendingFile& file : sample.files) {
      const bool is_first = file.field == 0;
      if (!is_first)
        entry.append(as_text(bytes_of(static_cast<std::uint32_t>(field_of_[file.field]))));
      entry.append(as_text(bytes_of(file.offset))).append(as_text(bytes_of(file.bytes)));
      if (is_first) continue;
      entry.append(as_text(bytes_of(static_cast<std::uint32_t>(file.path.size()))));
      entry.append(file.path);
    }
  }

  void add_files(const ComparedEntry& source, const IndexRow& row, ComparedPair pair) {
    ByteReader files(as_bytes(source.more));
    pair.offset = files.read_u64();
    pair.bytes = files.read_u64();
    pair.place = row.cells[pair.field].place;
    pairs_.push_back(pair);
    while (!files.at_end()) {
      pair.field = files.read_u32();
      pair.offset = files.read_u64();
      pair.bytes = files.read_u64();
      pair.path = as_text(files.read_bytes(files.read_u32()));
      pair.place = row.cells[pair.field].place;
      pairs_.push_back(pair);
    }
  }

  void list_dataset(ExternalSorter& list) {
    for (std::uint64_t number = 0; number < shards_.size(); ++number) {
      ShardCursor& shard = open_.at(number);
      const std::uint64_t position = shard.reader->columns().place_position(std::nullopt);
      for (std::uint64_t row = 0; row < shards_.samples(number); ++row) {
        events_.stop_if_asked();
        const FieldPlace key = shard.index->place(row, position);
        list.add(entry_of(as_text(shard.keys->view(key.offset, key.length)), number, row));
      }
    }
    for (const ManifestFile& file : manifest_.files) {
      if (!is_list_name(file.name, kSkippedName)) continue;
      read_csv(join_path(request_.dataset, file.name),
               [&](std::uint64_t row, const std::vector<std::string>& fields) {
                 events_.stop_if_asked();
                 if (row > 1 && !fields.empty()) list.add(entry_of(fields[0], kSkipped, 0));
               });
    }
    list.finish();
  }

  [[nodiscard]] Error lacks_field(const std::string& name, const std::string& kind = {}) const {
    return Error(Code::mismatch, "dataset has no field '{}'{} to compare with files",
                 printable(name), kind)
        .at(request_.dataset);
  }

  void find_fields(const SourceInfo& source) {
    const Field& compared = source.schema.fields.front();
    const std::optional<std::size_t> image = manifest_.schema.find(compared.name);
    const Kind kind =
        transform_ == nullptr ? compared.kind : transform_->output().fields.front().kind;
    if (!image || manifest_.schema.fields[*image].kind != kind)
      throw lacks_field(compared.name, fmt::format(" of kind {}", name_of(kind)));
    how_ = {.field = *image,
            .frames = compared.kind == Kind::list ? &format_of(manifest_) : nullptr,
            .keeps_hidden = hidden_policy_of(manifest_) == HiddenPolicy::keep,
            .order = manifest_.layout.dialect == Dialect::coclr ? FrameOrder::bytewise
                                                                : FrameOrder::natural,
            .memory_bytes = request_.memory_bytes / 2 / std::max(1U, request_.jobs),
            .archive = tree_ ? tree_->archive() : nullptr,
            .compares_payload = compares_payload_};
    if (transform_ != nullptr && compares_payload_) {
      how_.memory_bytes /= 2;
      work_.emplace(transform_, keeps_bad(manifest_), request_.memory_bytes / 2,
                    std::max(1U, request_.jobs));
      how_.work = &*work_;
    }
    for (const Field& field : source.schema.fields) {
      const std::optional<std::size_t> same = manifest_.schema.find(field.name);
      if (!same && field.name != "label") throw lacks_field(field.name);
      field_of_.push_back(same.value_or(0));
    }
    if (compares_labels_) label_ = manifest_.schema.find("label");
    source_classes_ = source.classes;
  }

  void join(ExternalSorter& theirs, ExternalSorter& ours) {
    std::optional<ComparedEntry> source = next_entry(theirs), sample = next_entry(ours);
    while (source || sample) {
      events_.stop_if_asked();
      if (!sample || (source && source->sort_key < sample->sort_key)) {
        if (is_subset_) {
          ++left_out_;
        } else {
          sink_(finding_of(source->key(), "source file is not in the dataset, nor in " +
                                              std::string(kSkippedName)));
        }
        source = next_entry(theirs);
      } else if (!source || sample->sort_key < source->sort_key) {
        sink_(finding_of(sample->key(), "sample is not in the source"));
        sample = next_entry(ours);
      } else {
        if (sample->first != kSkipped && source->second == kLacksSomething) {
          sink_(finding_of(sample->key(),
                           "sample is incomplete in the source: a file or a label "
                           "that belongs to it is missing"));
        } else if (sample->first != kSkipped) {
          compare(*source, *sample);
        }
        source = next_entry(theirs);
        sample = next_entry(ours);
      }
      drain(std::size_t{std::max(1U, request_.jobs)} * 2);
    }
  }

  void compare(const ComparedEntry& source, const ComparedEntry& sample) {
    ShardCursor& shard = open_.at(sample.first);
    const IndexRow row = shard.index->row(sample.second);
    std::string key = source.key();
    if (label_)
      compare_label(key, static_cast<std::int64_t>(source.first), row.cells[*label_].integer, shard,
                    sample.second);
    std::string path = join_path(request_.against.front(), key);
    shards_of_pairs_.insert(sample.first);
    if (how_.frames != nullptr) {
      std::vector<ArchivedFrame> frames;
      if (tree_) frames = archived_frames(*tree_, key, how_.keeps_hidden, how_.order);
      pairs_.push_back({std::move(key), std::move(path), 0, 0, std::move(frames), sample.second,
                        row.cells[how_.field].place, shard.reader, how_.field});
    } else {
      add_files(
          source, row,
          {std::move(key), std::move(path), 0, 0, {}, sample.second, {}, shard.reader, how_.field});
    }
    if (pairs_.size() >= kPairsAtOnce || shards_of_pairs_.size() == OpenShards::kMost) submit();
  }

  void compare_label(const std::string& key, std::int64_t expected, std::int64_t found,
                     const ShardCursor& shard, std::uint64_t row) {
    // Two tables may number classes differently; what counts is the name, where there is one.
    const auto name = [](const std::vector<std::string>& classes, std::int64_t label) {
      const bool has_name = label >= 0 && static_cast<std::uint64_t>(label) < classes.size();
      return has_name ? fmt::format("{} ({})", printable(classes[static_cast<std::size_t>(label)]),
                                    label)
                      : std::to_string(label);
    };
    const auto text = [](const std::vector<std::string>& classes, std::int64_t label) {
      const bool has_name = label >= 0 && static_cast<std::uint64_t>(label) < classes.size();
      return has_name ? classes[static_cast<std::size_t>(label)] : std::to_string(label);
    };
    // A single file has no room for names of classes: its index has them.
    const bool is_number =
        source_classes_.empty() || (manifest_.classes.empty() && manifest_.layout.is_of_one_file());
    if (is_number ? expected == found
                  : text(source_classes_, expected) == text(manifest_.classes, found))
      return;
    Finding finding = finding_of(key, "label differs from the source");
    finding.shard = shard.reader->shard().name;
    finding.row = row;
    finding.field = "label";
    finding.found = name(manifest_.classes, found);
    finding.expected = name(source_classes_, expected);
    sink_(std::move(finding));
  }

  void submit() {
    if (pairs_.empty()) return;
    auto pairs = std::make_shared<std::vector<ComparedPair>>(std::exchange(pairs_, {}));
    shards_of_pairs_.clear();
    pipeline_.submit(
        [pairs, how = how_](unsigned thread) { return compare_pairs(*pairs, how, thread); });
  }

  void drain(std::size_t left) {
    while (pipeline_.pending() > left) {
      for (Finding& finding : pipeline_.take()) sink_(std::move(finding));
      events_.stop_if_asked();
    }
  }

  const VerifyRequest& request_;
  const std::shared_ptr<FileTree> tree_;  // of an archive; null: a folder
  const Manifest& manifest_;
  const ShardList& shards_;
  bool compares_labels_, compares_payload_;
  const bool is_subset_ = has_chosen_samples(manifest_);
  std::uint64_t left_out_ = 0;
  const FindingSink& sink_;
  const Events& events_;
  OpenShards open_;
  const std::shared_ptr<const Transform> transform_;
  std::optional<ImageWorkAgain> work_;
  std::vector<ComparedPair> pairs_;
  std::set<std::uint64_t> shards_of_pairs_;  // bounded: each keeps its files open
  PairComparison how_ = {};
  std::optional<std::size_t> label_;
  std::vector<std::string> source_classes_;
  std::vector<std::size_t> field_of_;               // of the dataset, for each of the source
  OrderedPipeline<std::vector<Finding>> pipeline_;  // last: its tasks use the others
};

void compare_content(const DatasetDigest& ours, const DatasetDigest& theirs, const std::string& of,
                     const FindingSink& sink) {
  compare_fact("number of samples", std::to_string(ours.samples), std::to_string(theirs.samples),
               of, sink);
  compare_fact("content digest", ours.content.hex(), theirs.content.hex(), of, sink);
}

std::string fields_text(const Schema& schema) {
  std::string text;
  for (const Field& field : schema.fields) {
    text += (text.empty() ? "" : ", ") + field_text(field);
  }
  return text;
}

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
  compare_content(ours.digest, theirs.digest, printable(against), sink);
  if (ours.layout.has_keys && theirs.layout.has_keys) {
    compare_fact("key digest", ours.digest.keys.hex(), theirs.digest.keys.hex(), printable(against),
                 sink);
  }
}

std::string against_example(const Schema& schema) {
  std::string text;
  for (const Field& field : schema.fields)
    text += fmt::format("{}--against {}=FILE.npy", text.empty() ? "" : " ", printable(field.name));
  return text;
}

// Arrays have no digests: those of their rows are computed.
void compare_arrays(const Manifest& ours, const VerifyRequest& request, ArrayColumns arrays,
                    const FindingSink& sink, const Events& events,
                    std::vector<std::string>& notes) {
  const std::unique_ptr<Source> source =
      open_array_source({.arrays = std::move(arrays),
                         .scratch_folder = temporary_folder(),
                         .memory_bytes = request.memory_bytes / 2},
                        events);
  const SourceInfo& info = source->info();
  if (info.schema.fields != ours.schema.fields) {
    throw Error(Code::usage, "the arrays are {}, but the dataset has {}", fields_text(info.schema),
                fields_text(ours.schema))
        .at(request.dataset)
        .hint("give each array the name of its field: " + against_example(ours.schema));
  }
  const Format& format = format_of(ours);
  const OptionSet options(format.options);
  Encoding encoding{format, options, {}, OnError::fail};
  encoding.layout.rows = RowStorage::columns();  // the columns are all that is wanted
  DatasetDigest theirs;
  encode_all(*source, encoding,
             {.jobs = request.jobs,
              .memory_bytes = request.memory_bytes - info.memory_bytes,
              .rows_a_shard = std::nullopt},
             events, [&](const EncodedSample& rows) { theirs.append(rows.record->digest); });
  compare_content(ours.digest, theirs, "the arrays", sink);
  if (theirs.content == ours.digest.content && theirs.ordered != ours.digest.ordered)
    notes.push_back("the arrays hold the same rows in a different order");
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

std::string suffixes_of(const Manifest& manifest) {
  for (const auto& [name, value] : manifest.options) {
    if (name == kSuffixesOption) return value;
  }
  return {};
}

std::string pairs_of(const Manifest& manifest) {
  for (const auto& [name, value] : manifest.options) {
    if (name == kPairsOption) return value;
  }
  return {};
}

// Whoever wrote the file: what a folder becomes.
bool holds_files_of_folder(const Manifest& manifest) {
  if (!manifest.layout.is_of_one_file()) return true;
  const Schema& schema = manifest.schema;
  return manifest.layout.has_keys &&
         (is_field(schema, SoughtFiles(suffixes_of(manifest)).field(), Kind::bytes) ||
          holds_frames_of_folder(manifest)) &&
         (!schema.find("label") || is_field(schema, "label", Kind::integer));
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
  if (std::optional<ArrayColumns> arrays = find_array_columns(request.against, {})) {
    if (has_chosen_samples(manifest)) notes.emplace_back(kComparesAll);
    return compare_arrays(manifest, request, std::move(*arrays), sink, events, notes);
  }
  if (request.against.size() > 1) {
    throw Error(Code::usage, "--against is given {} times, but not with arrays",
                request.against.size())
        .at(request.against.front())
        .hint("repeat it for arrays only: --against x=a.npy --against y=b.npy");
  }
  const std::string& against = request.against.front();
  const bool is_archive = archive_of_path(against).has_value();
  if (!is_archive && stream_of_path(against)) throw not_for_stream(against, "--against");
  const bool is_of_folder =
      is_archive || (look_at(against) != Place::dataset && !file_of_path(against));
  if (is_remade(dataset, request, is_of_folder, events)) {
    if (has_chosen_samples(manifest)) notes.emplace_back(kComparesAll);
    return compare_remade(dataset, request, sink, events, notes);
  }
  if (!is_of_folder) {
    if (has_chosen_samples(manifest)) notes.emplace_back(kComparesAll);
    compare_digests(manifest, request, sink, events);
    return;
  }
  if (!holds_files_of_folder(manifest)) {
    throw Error(Code::unsupported, "a {} cannot be compared with a folder", manifest.source.kind)
        .at(request.dataset)
        .hint("convert it, and compare the result");
  }
  const bool is_of_frames = holds_frames_of_folder(manifest);
  const bool is_unlabelled =
      !is_of_frames && request.labels_file.empty() && is_of_flat_folder(dataset);
  FolderRequest folder{.root = against,
                       .labels_file = request.labels_file,
                       .classes_from = "",
                       .may_mix_labels = !manifest.classes.empty(),
                       .hidden = hidden_policy_of(manifest),
                       .suffixes = suffixes_of(manifest),
                       .allow_empty = true,
                       .without_labels = is_unlabelled,
                       .scratch_folder = temporary_folder(),
                       .memory_bytes = request.memory_bytes / 4,
                       .all_memory_bytes = request.memory_bytes,
                       .stop_if_asked = [&] { events.stop_if_asked(); },
                       .label_column = request.label_column,
                       .key_column = request.key_column,
                       .pair_suffixes = is_of_frames ? "" : pairs_of(manifest)};
  folder.tree = open_tree_of_archive(folder);
  const std::unique_ptr<Source> source = is_of_frames ? open_frames(folder) : open_folder(folder);
  if (!manifest.runs.empty()) {
    notes.push_back(
        fmt::format("the dataset was appended to and holds the samples of {} inputs: the folder "
                    "must have them all",
                    manifest.runs.size()));
  }
  if (is_unlabelled)
    notes.push_back("labels were not compared: pass --labels with the file that has them");
  const ComparedWork work = work_to_compare(manifest, source->info(), against, notes);
  const std::uint64_t left_out =
      Comparison(request, dataset, folder.tree, !is_unlabelled, work, sink, events).run(*source);
  if (has_chosen_samples(manifest))
    notes.push_back(fmt::format(
        "{} of the source are not in the dataset, which was made with --select, --exclude or "
        "--split",
        format_counted(left_out, "sample", "samples")));
}

}  // namespace shale
