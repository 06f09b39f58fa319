#include "shale/ops/make_shards_again.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/format.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/free_space.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/sources/input_kind.hpp"
#include "shale/sources/named_folders.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/sources/source_over.hpp"
#include "shale/sources/split_rows.hpp"
#include "shale/targets/conversion.hpp"
#include "shale/targets/identity.hpp"

namespace shale {
namespace {

// One of the runs that wrote the dataset, and what it wrote, as if it were all.
struct WritingRun {
  Manifest manifest;
  std::uint64_t number = 0, first_shard = 0, shards = 0, first_row = 0;
  bool is_only = true;

  [[nodiscard]] bool wrote_shard(std::uint64_t shard) const {
    return shard >= first_shard && shard - first_shard < shards;
  }
  [[nodiscard]] bool wrote_list(const std::string& name) const {
    return std::ranges::any_of(kLists, [&](auto list) { return name == list_name(list, number); });
  }
  // Samples with bad content that it left out.
  [[nodiscard]] std::uint64_t left_out(const SourceInfo& source) const {
    return is_only ? manifest.skipped - std::min(manifest.skipped, source.skipped)
                   : manifest.source.samples - manifest.digest.samples;
  }
  static constexpr std::string_view kLists[] = {kSkippedName, kIgnoredName, kImagesName};
};

std::vector<WritingRun> runs_of(const Manifest& manifest) {
  if (manifest.runs.empty()) return {{.manifest = manifest, .shards = manifest.shard_count}};
  std::vector<WritingRun> runs;
  WritingRun next{.manifest = manifest, .is_only = false};
  next.manifest.runs.clear();
  for (const ManifestRun& run : manifest.runs) {
    next.manifest.source = run.source;
    next.manifest.options = run.options;
    next.manifest.digest = {};
    next.manifest.digest.samples = run.samples;
    next.shards = run.shards;
    runs.push_back(next);
    ++next.number;
    next.first_shard += run.shards;
    next.first_row += run.samples;
  }
  return runs;
}

DamagedParts written_by(const WritingRun& run, const DamagedParts& damaged) {
  DamagedParts some;
  for (const std::uint64_t shard : damaged.shards) {
    if (run.wrote_shard(shard)) some.shards.push_back(shard);
  }
  for (const std::string& list : damaged.lists) {
    if (run.wrote_list(list)) some.lists.push_back(list);
  }
  return some;
}

// The command of the run, as far as the manifest tells.
ConvertRequest request_of(const RepairRequest& request, const Manifest& manifest) {
  if (const std::optional<std::string> why = why_only_a_copy(manifest)) {
    throw Error(Code::unsupported, "{}: its source alone does not make its shards again", *why)
        .at(request.dataset)
        .hint("pass a copy of the dataset with --from");
  }
  if (has_chosen_samples(manifest) && request.choice.is_all() && request.split.is_empty()) {
    throw Error(Code::usage, "holds chosen samples: which ones is not in its manifest")
        .at(request.dataset)
        .hint(
            "pass the --split (with its --seed), --select, --exclude, --classes or --limit "
            "that it was "
            "converted with, or a copy of it");
  }
  ConvertRequest made;
  static_cast<InputRequest&>(made) =
      recorded_input(manifest, request.dataset, made_from(manifest.source.kind).is_files);
  // The options are compared with those of the run.
  if (option_of(manifest, "hidden") == "unset") made.files.hidden = HiddenPolicy::unset;
  if (manifest.layout.has_classes && made.classes.from == request.dataset)
    made.classes = {.names = manifest.classes, .names_from = request.dataset};
  made.inputs = {request.from};
  made.inputs.insert(made.inputs.end(), request.more_from.begin(), request.more_from.end());
  if (const std::string names = option_of(manifest, kFoldersOption);
      !names.empty() && made_from(manifest.source.kind).is_files &&
      find_named_folders(made.inputs).empty())
    throw not_the_folders(request.dataset, names, "--from");
  if (request.join.on != JoinOn::unset) made.join.on = request.join.on;
  if (request.join.partners != Partners::unset) made.join.partners = request.join.partners;
  made.stdin_copy = request.stdin_copy;
  made.output = request.dataset;
  made.order.part = manifest.part;
  made.order.choice = request.choice;
  made.format = manifest.format;
  made.generator = request.generator;
  if (request.labels.is_given()) made.labels = request.labels;
  made.shard_bytes = parse_count(option_of(manifest, "shard_size"), "shard_size");
  const std::string samples = option_of(manifest, "shard_samples");
  if (samples != "unlimited") made.shard_samples = parse_count(samples, "shard_samples");
  made.row_group_bytes = row_group_bytes_of(manifest);
  made.order.is_shuffled = option_of(manifest, "shuffle") == "yes";
  if (made.order.is_shuffled) made.order.seed = parse_count(option_of(manifest, "seed"), "seed");
  const std::string on_error = option_of(manifest, "on_error");
  made.on_error = on_error == "keep"   ? OnError::keep
                  : on_error == "fail" ? OnError::fail
                                       : OnError::skip;
  // A run that left samples out may have left out what is damaged in the source, too.
  if (manifest.skipped > 0) made.on_damage = OnDamage::leave_out;
  made.max_errors = {.is_share = false, .share = 0, .count = ~std::uint64_t{0}};
  made.io = request.io;
  made.jobs = request.jobs;
  made.memory_bytes = request.memory_bytes;
  return made;
}

Error other_source(const ConvertRequest& request, std::string_view difference) {
  return Error(Code::mismatch, "is not what the dataset was made from: {}", difference)
      .at(request.inputs.front())
      .hint("pass the source as it was, or an intact copy of the dataset");
}

// Options that the manifest records, and nobody gave.
bool is_on_recorded_option(const Error& error) {
  constexpr std::string_view kRecorded[] = {"--classes-from ", "--ext ",      "--hidden ",
                                            "--group ",        "--pairs ",    "--parse ",
                                            "--database ",     "--partners ", "--label-from "};
  return error.code() == Code::usage &&
         std::ranges::any_of(kRecorded, [&](std::string_view option) {
           return error.message().starts_with(option);
         });
}

std::unique_ptr<Source> open_recorded(const ConvertRequest& request, const WritingRun& run,
                                      const std::string& scratch_folder, const Events& events) {
  try {
    return open_input(request, scratch_folder, events);
  } catch (const Error& error) {
    // The table is that of the dataset, not one that somebody chose.
    if (error.message().ends_with("is not in the class table"))
      throw other_source(request, "the dataset lacks its " +
                                      error.message().substr(0, error.message().rfind(" is not")));
    if (error.code() == Code::usage && error.message().starts_with("--fields "))
      throw other_source(request, "it has other fields");
    if (!is_on_recorded_option(error)) throw;
    throw other_source(request, fmt::format("its input was of kind {}, and this is another",
                                            run.manifest.source.kind));
  }
}

std::unique_ptr<Source> open_numbered(const ConvertRequest& request, const WritingRun& run,
                                      const std::string& scratch_folder, const Events& events) {
  std::unique_ptr<Source> source = open_recorded(request, run, scratch_folder, events);
  if (run.first_row == 0 || source->info().schema.has_keys) return source;
  return make_numbered_source(std::move(source), run.first_row);
}

// A file that is refused as a whole may have been converted for the fields that can be read.
std::unique_ptr<Source> open_at_least(ConvertRequest& request, std::vector<std::string> names,
                                      const WritingRun& run, const std::string& scratch_folder,
                                      const Events& events) {
  try {
    return open_numbered(request, run, scratch_folder, events);
  } catch (const Error& error) {
    const bool is_as_a_whole = error.code() == Code::unsupported || error.code() == Code::schema;
    if (!is_as_a_whole || made_from(run.manifest.source.kind).is_files) throw;
    request.fields.only = std::move(names);
    return open_numbered(request, run, scratch_folder, events);
  }
}

// What is known of a stream before it is read; what is made of it will be compared.
Identity comparable(Manifest manifest, bool is_stream) {
  if (!is_stream) return identity_of(manifest);
  manifest.source.samples = manifest.source.bytes = 0;
  manifest.source.fingerprint = {};
  std::erase_if(manifest.options, [](const auto& option) { return option.first == kLabelsOption; });
  return identity_of(manifest);
}

// The choice that made the fields of a run which recorded it. Datasets and arrays are opened for
// the names that they have.
FieldChoice choice_of_run(const ConvertRequest& request, const WritingRun& run,
                          const std::string& scratch_folder, const Events& events) {
  const std::string recorded = option_of(run.manifest, kFieldsOption);
  if (made_from(run.manifest.source.kind).is_files) {
    Schema files;
    for (const FieldName& field : field_names_of(recorded))
      files.fields.push_back({.name = field.of_input});
    return recorded_choice(recorded, files, {});
  }
  ConvertRequest plain = request;
  plain.images = {};
  std::vector<std::string> names;
  for (const FieldName& field : field_names_of(recorded)) names.push_back(field.of_input);
  const std::unique_ptr<Source> source = open_at_least(plain, names, run, scratch_folder, events);
  return recorded_choice(recorded, source->info().schema, source->info().fields);
}

// The run may have taken some of the fields only, and given them other names.
std::unique_ptr<Source> open_with_fields(ConvertRequest& request, const WritingRun& run,
                                         const std::string& scratch_folder, const Events& events) {
  if (!option_of(run.manifest, kFieldsOption).empty()) {
    request.fields = choice_of_run(request, run, scratch_folder, events);
    request.fields.is_lossy = !option_of(run.manifest, kLossyOption).empty();
    return open_numbered(request, run, scratch_folder, events);
  }
  std::vector<std::string> names;
  for (const Field& field : run.manifest.schema.fields) names.push_back(field.name);
  std::unique_ptr<Source> source = open_at_least(request, names, run, scratch_folder, events);
  const std::vector<Field>& fields = source->info().schema.fields;
  const auto is_there = [&](const Field& field) {
    return std::find(fields.begin(), fields.end(), field) != fields.end();
  };
  const std::vector<Field>& taken = run.manifest.schema.fields;
  if (fields != taken && !source->info().is_stream &&
      !made_from(run.manifest.source.kind).is_files &&
      std::all_of(taken.begin(), taken.end(), is_there)) {
    source.reset();
    request.fields.only = std::move(names);
    source = open_numbered(request, run, scratch_folder, events);
  }
  return source;
}

// The parts of the split that the run took one of, known by a hash. Null: it was not divided.
std::unique_ptr<SplitRows> take_part(ConvertRequest& request, const RepairRequest& repair,
                                     const WritingRun& run, const std::string& scratch_folder,
                                     const Events& events) {
  const std::string recorded = option_of(run.manifest, kChosenSamples);
  if (recorded.empty() || repair.split.is_empty()) return nullptr;
  // Which of its samples have labels depends on the fields.
  (void)open_with_fields(request, run, scratch_folder, events);
  InputRequest whole = request;
  whole.order.choice = repair.choice;
  whole.order.seed = repair.split_seed.value_or(request.order.seed);
  auto rows = std::make_unique<SplitRows>(whole, repair.split, scratch_folder, events);
  for (std::size_t part = 0; part < repair.split.parts.size(); ++part) {
    if (rows->hash(part).hex() != recorded) continue;
    request.order.choice = {.rows_file = rows->file_of(part)};
    return rows;
  }
  throw Error(Code::mismatch, "holds other samples than each part of --split has of {}",
              printable(request.inputs.front()))
      .at(repair.dataset)
      .hint(
          "pass the --split and the --seed that it was converted with; if these are the same, the "
          "source has changed: pass it as it was, or a copy of the dataset");
}

std::unique_ptr<Source> open_source(ConvertRequest& request, const WritingRun& run,
                                    const std::string& scratch_folder, const Events& events) {
  std::unique_ptr<Source> source = open_with_fields(request, run, scratch_folder, events);
  const bool is_stream = source->info().is_stream;
  const std::optional<std::string> difference =
      source->info().schema.fields != run.manifest.schema.fields
          ? "it has other fields"
          : first_difference(comparable(run.manifest, is_stream),
                             comparable(wanted_manifest(request, source->info()), is_stream));
  if (difference) throw other_source(request, *difference);
  return source;
}

// The keys that the run left out, in the order of the input. What its source had left out before
// comes first in the list.
std::vector<std::string> skipped_keys(const RepairRequest& request, const WritingRun& run,
                                      const SourceInfo& source) {
  std::vector<std::string> keys;
  if (run.left_out(source) == 0) return keys;
  const std::string path = join_path(request.dataset, list_name(kSkippedName, run.number));
  std::uint64_t bytes = 0;
  read_csv(path, [&](std::uint64_t row, CsvRow fields) {
    if (row <= 1 + source.skipped || fields.empty()) return;
    keys.emplace_back(fields.front());
    bytes += sizeof(std::string) + fields.front().size();
    if (bytes <= request.memory_bytes / 4) return;
    throw Error(Code::limit, "the list takes more than {} of memory",
                format_size(request.memory_bytes / 4))
        .at(path)
        .hint("raise --memory");
  });
  return keys;
}

// The samples of one shard after the other, out of the source of all.
class ShardsOfSource final : public Source {
 public:
  ShardsOfSource(std::unique_ptr<Source> whole, std::vector<std::string> skipped)
      : whole_(std::move(whole)), skipped_(std::move(skipped)), info_(whole_->info()) {
    info_.digest.reset();
    info_.skipped = info_.ignored = 0;
    info_.is_stream = false;  // its totals are those of a shard
  }

  /// From now on the samples are those that came to be the rows [first, end) of the dataset, and
  /// what was left out among them.
  void move_to(std::uint64_t first, std::uint64_t end) {
    if (skipped_.empty()) {
      whole_->skip(first - row_);
      row_ = first;
    }
    while (row_ < first) (void)pass(whole_->next(1));
    end_ = end;
    info_.manifest.samples = end - first;
    given_ = 0;
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    if (row_ < end_) {
      std::optional<PendingSample> sample = pass(whole_->next(std::min(most_rows, end_ - row_)));
      given_ += sample->rows;
      return sample;
    }
    info_.manifest.samples = given_;
    return std::nullopt;
  }

 private:
  // Counts the sample as a row, unless the run left it out.
  std::optional<PendingSample> pass(std::optional<PendingSample> sample) {
    if (!sample) {
      throw Error(Code::mismatch, "the source ends before the samples of the dataset do")
          .hint("pass the source as it was, or an intact copy of the dataset");
    }
    if (passed_ < skipped_.size() && sample->key == skipped_[passed_]) {
      ++passed_;
    } else {
      row_ += sample->rows;
    }
    return sample;
  }

  std::unique_ptr<Source> whole_;
  const std::vector<std::string> skipped_;
  SourceInfo info_;
  std::uint64_t row_ = 0, end_ = 0, given_ = 0;
  std::size_t passed_ = 0;  // of skipped_
};

/// What one run was made from, opened once more. Errors: Code::mismatch for something else.
struct SourceOfRun {
  SourceOfRun(const RepairRequest& request, const WritingRun& run,
              const std::string& scratch_folder, const Events& events)
      : conversion(request_of(request, run.manifest)),
        part_of_split(take_part(conversion, request, run, scratch_folder, events)),
        source(open_source(conversion, run, scratch_folder, events)) {}

  ConvertRequest conversion;
  std::unique_ptr<SplitRows> part_of_split;  // its rows are in a file that lives as long
  std::unique_ptr<Source> source;
};

/// The work on what one run wrote.
class Remaking {
 public:
  Remaking(const RepairRequest& request, const ShardList& shards, const WritingRun& run,
           SourceOfRun made_from, DamagedParts damaged, WorkFolder& work, const Events& events,
           const RemadeSink& sink)
      : request_(request),
        shards_(shards),
        run_(run),
        damaged_(std::move(damaged)),
        work_(work),
        events_(events),
        sink_(sink),
        format_(format_of(run.manifest)),
        conversion_(std::move(made_from.conversion)),
        part_of_split_(std::move(made_from.part_of_split)),
        source_(std::move(made_from.source)) {}

  void remake() {
    work_.begin("");
    require_room(request_.dataset, {.bytes = most_bytes()},
                 "free some space on this file system, then run it again");
    const std::string ignored = list_name(kIgnoredName, run_.number);
    // A stream has its list of what was ignored at its end.
    const bool is_stream = source_->info().is_stream;
    const bool takes_all = std::ranges::any_of(
        damaged_.lists, [&](const std::string& list) { return is_stream || list != ignored; });
    // Both: the lists first, which say what is not in the shards. Where these end, parts that were
    // merged tell, not the run.
    if (takes_all && !is_stream && !damaged_.shards.empty()) {
      takes_shards_ = false;
      remake_all();
      takes_shards_ = true;
      source_ = open_source(conversion_, run_, work_.path(), events_);
      return remake_shards();
    }
    if (takes_all) return remake_all();
    if (!damaged_.lists.empty()) remake_ignored_list();
    if (!damaged_.shards.empty()) remake_shards();
  }

 private:
  // At a time, beside the damaged ones.
  [[nodiscard]] std::uint64_t most_bytes() const {
    std::uint64_t most = 0;
    for (const std::uint64_t number : damaged_.shards) {
      const ManifestShard shard = shards_[number];
      std::uint64_t bytes = shard.list_bytes();
      for (const ManifestFile& file : shard.files) bytes += file.bytes;
      most = std::max(most, bytes);
    }
    return most;
  }

  [[nodiscard]] ShardSetWriter::Options options_for(std::uint64_t first_shard) {
    return {.limit_bytes = conversion_.shard_bytes,
            .limit_samples = conversion_.shard_samples,
            .lists_elements = run_.manifest.layout.has_elements,
            .keeps_classes = run_.manifest.layout.has_classes,
            .first_shard = first_shard,
            .on_shard = [this, number = first_shard](const ManifestShard& made) mutable {
              take(number++, made);
            }};
  }

  // What is not needed makes room for the next shard.
  void take(std::uint64_t number, const ManifestShard& made) {
    if (takes_shards_ && std::ranges::binary_search(damaged_.shards, number))
      sink_.shard(number, made);
    for (const ManifestFile& file : made.files)
      (void)remove_file(join_path(work_.path(), file.name));
    for (const ManifestFile* list : made.lists())
      (void)remove_file(join_path(work_.path(), list->name));
  }

  void take_lists(Conversion& conversion) {
    Manifest made;
    conversion.finish_lists(made);
    for (const ManifestFile& list : made.files) {
      if (std::ranges::find(damaged_.lists, list.name) != damaged_.lists.end()) sink_.list(list);
    }
    remove_lists();
  }

  void remove_lists() {
    for (const std::string_view list : WritingRun::kLists)
      (void)remove_file(join_path(work_.path(), list_name(list, run_.number)));
  }

  void remake_all() {
    const Events events{{.progress = events_.progress, .should_stop = events_.should_stop}};
    Conversion again(conversion_, events, format_, *source_, work_, options_for(run_.first_shard),
                     std::nullopt, run_.number);
    again.run();
    (void)again.finish({});
    take_lists(again);
  }

  // The source has it, before any of its samples.
  void remake_ignored_list() {
    Conversion again(conversion_, events_, format_, *source_, work_, options_for(run_.first_shard),
                     std::nullopt, run_.number);
    take_lists(again);
  }

  void remake_shards() {
    std::vector<std::string> skipped = skipped_keys(request_, run_, source_->info());
    ShardsOfSource source(std::move(source_), std::move(skipped));
    const Events quiet{{.should_stop = events_.should_stop}};
    for (const std::uint64_t number : damaged_.shards) {
      const std::uint64_t first = shards_.first_row(number) - run_.first_row;
      source.move_to(first, first + shards_.samples(number));
      Conversion again(conversion_, quiet, format_, source, work_, options_for(number),
                       std::nullopt, run_.number);
      again.run();
      (void)again.finish({});
      remove_lists();
    }
  }

  const RepairRequest& request_;
  const ShardList& shards_;
  const WritingRun& run_;
  const DamagedParts damaged_;
  WorkFolder& work_;
  const Events& events_;
  const RemadeSink& sink_;
  const Format& format_;
  ConvertRequest conversion_;
  std::unique_ptr<SplitRows> part_of_split_;  // its rows are in a file that lives as long
  std::unique_ptr<Source> source_;
  bool takes_shards_ = true;
};

// Of several inputs, the one that is at hand is of one run or another.
bool may_be_of_another_run(Code code) {
  return code == Code::mismatch || code == Code::usage || code == Code::unsupported ||
         code == Code::schema || code == Code::not_found || code == Code::bad_content;
}

Error advised(const Error& error, const Manifest& manifest, const WritingRun& run) {
  Error again(error.code(), "{}", error.message());
  if (!error.cause().empty()) again.because(error.cause());
  return again.at(error.file(), error.offset())
      .hint(fmt::format("the dataset has {} inputs; what is damaged was made from one of kind {} "
                        "with {}: pass that, or a copy of the dataset",
                        manifest.runs.size(), run.manifest.source.kind,
                        format_counted(run.manifest.source.samples, "sample", "samples")));
}

// Its shards hold the names that there were before later runs added theirs: one says how many.
void take_classes_of_then(WritingRun& run, const RepairRequest& request, const ShardList& shards) {
  Manifest& manifest = run.manifest;
  const Format& format = format_of(manifest);
  const std::optional<std::size_t> label = label_of(manifest);
  if (run.is_only || !manifest.layout.has_classes || format.classes == nullptr || !label) return;
  for (std::uint64_t i = 0; i < run.shards; ++i) {
    try {
      const InputFile file(join_path(request.dataset, shards[run.first_shard + i].files[0].name));
      const std::vector<std::string> names =
          format.classes->read(file, manifest.schema.fields[*label].name);
      if (names.empty() || names.size() > manifest.classes.size()) continue;
      manifest.classes.resize(names.size());
      return;
    } catch (const Error& error) {
      if (!is_about_bytes(error) && error.code() != Code::not_found) throw;
    }
  }
}

// use(run, source, damaged) for each run that wrote something damaged, and had this source.
template <class Use>
void for_each_run(const RepairRequest& request, const ShardList& shards,
                  const DamagedParts& damaged, const std::string& scratch_folder,
                  const Events& events, Use use) {
  std::optional<Error> difference;
  bool is_any = false;
  for (WritingRun& run : runs_of(shards.manifest())) {
    DamagedParts of_run = written_by(run, damaged);
    if (of_run.is_empty()) continue;
    take_classes_of_then(run, request, shards);
    std::optional<SourceOfRun> made_from;
    try {
      made_from.emplace(request, run, scratch_folder, events);
    } catch (const Error& error) {
      if (run.is_only || !may_be_of_another_run(error.code())) throw;
      if (!difference) difference = advised(error, shards.manifest(), run);
      continue;
    }
    is_any = true;
    use(run, std::move(*made_from), std::move(of_run));
  }
  if (difference && !is_any) throw Error(*difference);
}

}  // namespace

std::optional<std::string> why_only_a_copy(const Manifest& run) {
  if (run.source.kind == kProgramKind) return "was written by a program, sample by sample";
  const std::string shuffle = option_of(run, "shuffle");
  if (shuffle != "yes" && shuffle != "no") return "holds rows that 'shale resample' drew";
  if (const std::optional<std::string> codec = other_codec(run.transform))
    return "its images were made by " + *codec;
  return std::nullopt;
}

void make_again(const RepairRequest& request, const ShardList& shards, const DamagedParts& damaged,
                WorkFolder& work, const Events& events, const RemadeSink& sink) {
  for_each_run(request, shards, damaged, work.path(), events,
               [&](const WritingRun& run, SourceOfRun made_from, DamagedParts of_run) {
                 Remaking(request, shards, run, std::move(made_from), std::move(of_run), work,
                          events, sink)
                     .remake();
                 work.clear();
               });
}

void refuse_other_source(const RepairRequest& request, const ShardList& shards,
                         const DamagedParts& damaged, const std::string& scratch_folder,
                         const Events& events) {
  for_each_run(request, shards, damaged, scratch_folder, events,
               [](const WritingRun&, const SourceOfRun&, const DamagedParts&) {});
}

}  // namespace shale
