#include "shale/ops/make_shards_again.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/format/format.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/ops/conversion.hpp"
#include "shale/ops/identity.hpp"
#include "shale/shards/csv.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/naming.hpp"
#include "shale/sources/frames_source.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/sources/sample_choice.hpp"
#include "shale/sources/sought_files.hpp"

namespace shale {
namespace {

std::string option_of(const Manifest& manifest, std::string_view name) {
  for (const auto& [option, value] : manifest.options) {
    if (option == name) return value;
  }
  return {};
}

Error needs_copy(const RepairRequest& request, std::string_view why) {
  return Error(Code::unsupported, "{}: its source alone does not make its shards again", why)
      .at(request.dataset)
      .hint("pass a copy of the dataset with --from");
}

// The command that made the dataset, as far as its manifest tells.
ConvertRequest request_of(const RepairRequest& request, const Manifest& manifest) {
  const std::string shuffle = option_of(manifest, "shuffle");
  if (manifest.source.kind == kProgramKind)
    throw needs_copy(request, "was written by a program, sample by sample");
  if (has_chosen_samples(manifest))
    throw needs_copy(request, "holds chosen samples (--select, --exclude)");
  if (shuffle != "yes" && shuffle != "no")
    throw needs_copy(request, "holds rows that 'shale resample' drew");
  ConvertRequest made;
  made.inputs = {request.from};
  made.output = request.dataset;
  made.part = manifest.part;
  made.format = manifest.format;
  made.generator = request.generator;
  made.labels_file = request.labels_file;
  made.groups_frames = manifest.source.kind == kVideoFrames;
  const bool is_folder = made.groups_frames || manifest.source.kind == kImageFolder ||
                         manifest.source.kind == kClassFolders ||
                         manifest.source.kind == kFlatFolder;
  if (is_folder && !manifest.classes.empty()) made.classes_from = request.dataset;
  made.shard_bytes = parse_count(option_of(manifest, "shard_size"), "shard_size");
  const std::string samples = option_of(manifest, "shard_samples");
  if (samples != "unlimited") made.shard_samples = parse_count(samples, "shard_samples");
  made.is_shuffled = shuffle == "yes";
  if (made.is_shuffled) made.seed = parse_count(option_of(manifest, "seed"), "seed");
  const std::string hidden = is_folder ? option_of(manifest, "hidden") : "unset";
  made.hidden = hidden == "keep"   ? HiddenPolicy::keep
                : hidden == "skip" ? HiddenPolicy::skip
                                   : HiddenPolicy::unset;
  if (is_folder) made.suffixes = option_of(manifest, kSuffixesOption);
  const std::string on_error = option_of(manifest, "on_error");
  made.on_error = on_error == "keep"   ? OnError::keep
                  : on_error == "fail" ? OnError::fail
                                       : OnError::skip;
  made.allow_empty = true;
  made.max_errors = {.is_share = false, .share = 0, .count = ~std::uint64_t{0}};
  made.io = request.io;
  made.jobs = request.jobs;
  made.memory_bytes = request.memory_bytes;
  return made;
}

std::unique_ptr<Source> open_source(ConvertRequest& request, const Manifest& manifest,
                                    const std::string& scratch_folder, const Events& events) {
  std::unique_ptr<Source> source = open_input(request, scratch_folder, events);
  // Of a dataset or of arrays the run may have taken some of the fields only.
  const std::vector<Field>& fields = source->info().schema.fields;
  const auto is_there = [&](const Field& field) {
    return std::find(fields.begin(), fields.end(), field) != fields.end();
  };
  const std::vector<Field>& taken = manifest.schema.fields;
  if (fields != taken && std::all_of(taken.begin(), taken.end(), is_there)) {
    source.reset();
    for (const Field& field : taken) request.fields.push_back(field.name);
    source = open_input(request, scratch_folder, events);
  }
  const std::optional<std::string> difference =
      source->info().schema.fields != taken
          ? "it has other fields"
          : first_difference(identity_of(manifest),
                             identity_of(wanted_manifest(request, source->info())));
  if (difference) {
    throw Error(Code::mismatch, "is not what the dataset was made from: {}", *difference)
        .at(request.inputs.front())
        .hint("pass the source as it was, or an intact copy of the dataset");
  }
  return source;
}

// The keys that the run left out, in the order of the input. What its source had left out before
// comes first in the list.
std::vector<std::string> skipped_keys(const RepairRequest& request, const Manifest& manifest,
                                      const SourceInfo& source) {
  std::vector<std::string> keys;
  if (manifest.skipped == source.skipped) return keys;
  std::uint64_t bytes = 0;
  read_csv(join_path(request.dataset, kSkippedName),
           [&](std::uint64_t row, const std::vector<std::string>& fields) {
             if (row <= 1 + source.skipped || fields.empty()) return;
             keys.push_back(fields.front());
             bytes += sizeof(std::string) + fields.front().size();
             if (bytes <= request.memory_bytes / 4) return;
             throw Error(Code::limit, "the list takes more than {} of memory",
                         format_size(request.memory_bytes / 4))
                 .at(join_path(request.dataset, kSkippedName))
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

}  // namespace

void make_shards_again(const RepairRequest& request, const ShardList& shards,
                       const std::vector<std::uint64_t>& numbers, WorkFolder& work,
                       const Events& events, const ShardSink& sink) {
  const Manifest& manifest = shards.manifest();
  if (!manifest.runs.empty()) {
    throw Error(Code::unsupported,
                "was appended to: its shards are not made again from one of its {} inputs",
                manifest.runs.size())
        .at(request.dataset)
        .hint("pass an intact copy of the dataset");
  }
  const Format& format = format_of(manifest);
  ConvertRequest conversion = request_of(request, manifest);
  std::unique_ptr<Source> whole = open_source(conversion, manifest, work.path(), events);
  std::vector<std::string> skipped = skipped_keys(request, manifest, whole->info());
  ShardsOfSource source(std::move(whole), std::move(skipped));
  work.begin("");
  const Events quiet{.note = {}, .progress = {}, .should_stop = events.should_stop};
  for (const std::uint64_t number : numbers) {
    const std::uint64_t first = shards.first_row(number);
    source.move_to(first, first + shards.samples(number));
    Conversion again(conversion, quiet, format, source, work,
                     {.limit_bytes = conversion.shard_bytes,
                      .limit_samples = conversion.shard_samples,
                      .lists_elements = manifest.layout.has_elements});
    again.run();
    (void)again.finish({});
    ManifestShard made;  // the journal names it last
    work.for_each_shard([&](const ManifestShard& shard) { made = shard; });
    sink(number, made);
    // What was not needed makes room for the next shard, which has the same names.
    work.drop_unfinished_files();
    for (const std::string_view list : {kSkippedName, kImagesName})
      (void)remove_file(join_path(work.path(), list));
    for (const ManifestFile& file : made.files)
      (void)remove_file(join_path(work.path(), file.name));
    for (const ManifestFile* list : made.lists())
      (void)remove_file(join_path(work.path(), list->name));
  }
}

}  // namespace shale
