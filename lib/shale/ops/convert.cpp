#include "shale/ops/convert.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "shale/arrays/array_columns.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/encoding/forecast.hpp"
#include "shale/format/format.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/ops/compare_content.hpp"
#include "shale/ops/identity.hpp"
#include "shale/ops/join_array.hpp"
#include "shale/shards/csv.hpp"
#include "shale/shards/manifest_file.hpp"
#include "shale/shards/naming.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/sources/class_table.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/verify/verify.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownSkips = 10;

// --memory, divided: the list of files, or what else the source holds; the write buffers; and what
// is left for samples in flight.
std::uint64_t memory_for_samples(std::uint64_t memory_bytes, const SourceInfo& source) {
  const std::uint64_t of_source = std::max(list_memory(memory_bytes), source.memory_bytes);
  return memory_bytes - of_source - ShardSetWriter::buffer_bytes(memory_bytes);
}

// A run under way: one source, one set of shards.
class Conversion {
 public:
  Conversion(const ConvertRequest& request, const Events& events, const Format& format,
             Source& source, WorkFolder& work)
      : request_(request),
        events_(events),
        format_(format),
        format_options_(format.options),
        source_(source),
        work_(work),
        writer_(format, source.info().schema, format_options_, work,
                {.limit_bytes = request.shard_bytes,
                 .limit_samples = request.shard_samples,
                 .io = request.io,
                 .memory_bytes = request.memory_bytes,
                 .keys_are_unique = source.info().keys_are_unique}),
        skipped_list_(work.path(), std::string(kSkippedName), {"key", "reason", "detail"}),
        ignored_list_(work.path(), std::string(kIgnoredName), {"entry", "reason"}),
        images_list_(work.path(), std::string(kImagesName),
                     {"key", "odd", "type", "width", "height", "color"}) {
    if (source.info().holds_images) images_.emplace();
    source.list_skipped([this](const SkippedSample& sample) {
      skipped_list_.add({sample.key, sample.reason, sample.detail});
    });
  }

  void run() {
    const Encoding encoding{format_, format_options_, writer_.layout(), request_.on_error};
    encode_all(source_, encoding,
               {.jobs = request_.jobs,
                .memory_bytes = memory_for_samples(request_.memory_bytes, source_.info()),
                .rows_a_shard = writer_.rows_a_shard()},
               events_, [this](const EncodedSample& sample) { commit(sample); });
  }

  // The shards are written: everything that stands beside them, the manifest last.
  ConvertReport finish(Manifest manifest) {
    const ShardSetWriter::Summary written = writer_.finish();
    const SourceInfo& source = source_.info();
    if (written.digest.samples + skipped_ != source.manifest.samples) {
      throw Error(Code::bug, "{} samples written and {} skipped, but the input has {}",
                  written.digest.samples, skipped_, source.manifest.samples);
    }
    prove_input(source, read_, request_.inputs.front());
    manifest.layout = writer_.layout();
    manifest.skipped = source.skipped + skipped_;
    manifest.ignored = source.ignored;
    source_.list_ignored([this](std::string_view entry, std::string_view reason) {
      ignored_list_.add({std::string(entry), std::string(reason)});
    });
    manifest.images = images_;
    manifest.digest = written.digest;
    manifest.payload_bytes = written.payload_bytes;
    manifest.shard_count = written.shards;
    for (CsvList* list : {&skipped_list_, &ignored_list_, &images_list_}) {
      if (std::optional<ManifestFile> file = list->finish()) manifest.files.push_back(*file);
    }
    const auto for_each_shard = [this](const ShardVisitor& visit) { work_.for_each_shard(visit); };
    if (format_.write_native_index != nullptr) add_native_index(manifest, for_each_shard);
    write_manifest(work_.path(), manifest, for_each_shard);
    ConvertReport report;
    report.manifest = std::move(manifest);
    report.file_bytes = written.file_bytes;
    report.first_skipped = first_skipped_;
    report.skipped = skipped_;
    return report;
  }

 private:
  void commit(const EncodedSample& sample) {
    ++done_;
    read_.append(sample.read);
    if (sample.image && (sample.record || !sample.image->fault.empty())) report_image(sample);
    if (!sample.fault.empty()) endure(sample);
    if (sample.record) writer_.append(*sample.record);
  }

  void report_image(const EncodedSample& sample) {
    const ImageInfo& image = *sample.image;
    if (!sample.record) return;
    ++images_->types[std::string(name_of(image.type))];
    std::string odd;
    for (const std::string_view what : image.odd) {
      ++images_->odd[std::string(what)];
      odd.append(odd.empty() ? "" : " ").append(what);
    }
    if (!image.fault.empty()) {
      ++images_->odd["kept-bad"];
      odd.append(odd.empty() ? "" : " ").append("kept-bad");
    }
    if (odd.empty()) return;
    images_list_.add({sample.key, odd, std::string(name_of(image.type)),
                      std::to_string(image.width), std::to_string(image.height), image.color});
  }

  // A sample with bad content: listed, counted, and too many of them end the run.
  void endure(const EncodedSample& sample) {
    ++bad_;
    if (!sample.record) {
      ++skipped_;
      skipped_list_.add({sample.key, std::string(name_of(sample.fault.code)), sample.fault.text});
      if (first_skipped_.size() < kShownSkips) {
        first_skipped_.push_back(printable(sample.key) + ": " + sample.fault.text);
      }
    }
    const std::uint64_t limit = request_.max_errors.limit(source_.info().manifest.samples);
    if (bad_ > limit) {
      throw Error(Code::limit, "{}, more than --max-errors allows ({}); the last one {}",
                  format_counted(bad_, "bad image", "bad images"), limit, sample.fault.text)
          .for_sample(sample.key, done_ - 1)
          .hint("check the input; if this many bad images are expected, raise --max-errors");
    }
  }

  void add_native_index(Manifest& manifest,
                        const std::function<void(const ShardVisitor&)>& for_each_shard) {
    for (const std::string& name :
         format_.write_native_index(manifest, for_each_shard, work_.path())) {
      const FileSummary file = summarize_file(InputFile(join_path(work_.path(), name)));
      manifest.files.push_back({name, file.bytes, file.hash});
    }
  }

  const ConvertRequest& request_;
  const Events& events_;
  const Format& format_;
  OptionSet format_options_;
  Source& source_;
  WorkFolder& work_;
  ShardSetWriter writer_;
  CsvList skipped_list_, ignored_list_, images_list_;
  std::optional<ImageReport> images_;
  DatasetDigest read_;
  std::vector<std::string> first_skipped_;
  std::uint64_t done_ = 0, bad_ = 0, skipped_ = 0;
};

void refuse_strange_output(const ConvertRequest& request, Place place) {
  if (place == Place::other_file) {
    throw Error(Code::exists, "is a file, not a directory")
        .at(request.output)
        .hint("choose another output");
  }
  if (place == Place::other_folder) {
    throw Error(Code::exists, "is not empty and holds no shale dataset")
        .at(request.output)
        .hint("choose another output, or empty the directory yourself");
  }
}

// All that a finished set needs, by name and size: a manifest alone is not a reason to continue
// with it.
void refuse_incomplete(const std::string& output) {
  const auto require = [&](const ManifestFile& file) {
    if (file.name.empty()) return;
    const std::string path = join_path(output, file.name);
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    if (!error && bytes == file.bytes) return;
    throw Error(Code::damaged, "{}, but the finished dataset needs it with {} bytes",
                error ? "is missing" : fmt::format("has {} bytes", bytes), file.bytes)
        .at(path)
        .hint(fmt::format(
            "run 'shale verify {}' to list all the damage, or pass --overwrite to write the "
            "dataset again",
            printable(output)));
  };
  const Manifest manifest = read_manifest(output, [&](const ManifestShard& shard) {
    for (const ManifestFile& file : shard.files) require(file);
    require(shard.index);
    require(shard.blocks);
  });
  for (const ManifestFile& file : manifest.files) require(file);
}

// An earlier run may have been allowed to leave out more.
void refuse_too_many_skipped(const ConvertRequest& request, const SourceInfo& source,
                             std::uint64_t skipped) {
  const std::uint64_t limit = request.max_errors.limit(source.manifest.samples);
  const std::uint64_t bad = skipped - std::min(skipped, source.skipped);
  if (bad <= limit) return;
  throw Error(Code::limit, "the finished dataset left out {}, more than --max-errors allows ({})",
              format_counted(bad, "bad image", "bad images"), limit)
      .at(join_path(request.output, kSkippedName))
      .hint("fix or remove the images that it lists, then convert again with --overwrite");
}

// The output is a finished set: of this very command, or of another one.
ConvertReport already_complete(const ConvertRequest& request, const Manifest& wanted,
                               const SourceInfo& source) {
  ConvertReport report;
  report.manifest = read_manifest(request.output);
  report.was_compared = has_other_content(report.manifest.source, wanted.source);
  if (report.was_compared) report.manifest.source.fingerprint = wanted.source.fingerprint;
  if (const std::optional<std::string> difference =
          first_difference(identity_of(report.manifest), identity_of(wanted))) {
    throw Error(Code::exists, "already holds a finished dataset of another command: {}",
                *difference)
        .at(request.output)
        .hint("choose another output, or pass --overwrite to replace it");
  }
  refuse_incomplete(request.output);
  report.was_complete = true;
  report.skipped = report.manifest.skipped;
  refuse_too_many_skipped(request, source, report.skipped);
  return report;
}

void refuse_other_run(const ConvertRequest& request, const WorkFolder& work,
                      const Manifest& wanted) {
  const std::string previous = work.previous_request();
  if (!request.overwrite && !previous.empty()) {
    const std::optional<std::string> difference =
        first_difference(identity_from_line(previous), identity_of(wanted));
    if (difference) {
      throw Error(Code::exists, "holds an unfinished run of another command: {}", *difference)
          .at(request.output)
          .hint("run that command again to finish it, or pass --overwrite to discard it");
    }
  }
}

// Nothing of the old set is removed before the new one is complete: there must be space for both.
void prepare_overwrite(const ConvertRequest& request, const SourceInfo& source,
                       const Events& events) {
  const std::uint64_t needed = source.manifest.bytes;
  require_free_space(request.output, needed,
                     "the old dataset stays until the new one is complete: free space for both, or "
                     "remove the old one yourself");
  const std::string size = needed == 0 ? "" : ", " + format_size(needed) + " of samples";
  events.say(fmt::format("the dataset in {} stays until the new one{} is complete",
                         printable(request.output), size));
}

// Refuses files of somebody else under the names of shards.
void refuse_taken_names(const ConvertRequest& request, const Format& format,
                        const SourceInfo& source) {
  std::vector<std::string> suffixes =
      format.layout(source.schema, OptionSet(format.options)).file_suffixes;
  suffixes.emplace_back(kIndexSuffix);
  suffixes.emplace_back(kBlocksSuffix);
  refuse_foreign_files(SetPlace::of_dataset(request.output), suffixes);
}

Manifest wanted_manifest(const ConvertRequest& request, const SourceInfo& source) {
  Manifest manifest;
  manifest.generator = request.generator;
  manifest.format = request.format;
  manifest.options = shaping_options(request, source);
  manifest.schema = source.schema;
  manifest.classes = source.classes;
  manifest.source = source.manifest;
  return manifest;
}

void say_notes(const SourceInfo& source, const Events& events) {
  for (const std::string& note : source.notes) events.say(note);
  if (!source.labels_are_sorted) return;
  events.say(
      "samples are sorted by label: a sequential reader would see one class at a time; "
      "pass --shuffle to write a shuffled order");
}

ConvertReport dry_run(const ConvertRequest& request, const Format& format, Source& source,
                      Manifest manifest) {
  refuse_too_large(source.info(), format, request.shard_bytes,
                   memory_for_samples(request.memory_bytes, source.info()));
  ConvertReport report;
  report.is_plan = true;
  report.notes = source.info().notes;
  manifest.layout = format.layout(source.info().schema, OptionSet(format.options));
  const ShardForecast plan =
      forecast_shards(source, format, request.shard_bytes, request.shard_samples);
  manifest.shard_count = plan.shards;
  manifest.digest.samples = source.info().manifest.samples;
  manifest.payload_bytes = source.info().manifest.bytes;
  manifest.ignored = source.info().ignored;
  manifest.skipped = source.info().skipped;
  report.file_bytes = plan.file_bytes;
  report.manifest = std::move(manifest);
  return report;
}

// What was decided before the lock was taken may be wrong by now: all is looked at again.
ConvertReport convert_into(const ConvertRequest& request, const Events& events,
                           const Format& format) {
  WorkFolder work(request.output);
  const SetPlace set = SetPlace::of_dataset(request.output);
  const bool was_swapping = finish_swap(set, work);
  const Place place = look_at(request.output);
  const bool replaces = place == Place::dataset;
  std::unique_ptr<Source> source;
  Manifest wanted;
  try {
    refuse_strange_output(request, place);
    source = open_input(request, work.path(), events);
    check_schema_fits(format, source->info().schema);
    refuse_too_large(source->info(), format, request.shard_bytes,
                     memory_for_samples(request.memory_bytes, source->info()));
    wanted = wanted_manifest(request, source->info());
    const bool is_this_run =
        was_swapping &&
        !first_difference(identity_of(read_manifest(request.output)), identity_of(wanted));
    if (replaces && (is_this_run || !request.overwrite)) {
      ConvertReport report = already_complete(request, wanted, source->info());
      if (report.was_compared) refuse_changed_content(request, events, format, *source);
      source.reset();
      work.remove();
      return report;
    }
    refuse_other_run(request, work, wanted);
    refuse_taken_names(request, format, source->info());
    work.clear();
    if (replaces) prepare_overwrite(request, source->info(), events);
  } catch (...) {
    source.reset();
    if (place != Place::unfinished || work.previous_request().empty()) work.abandon();
    throw;
  }
  say_notes(source->info(), events);
  work.begin(identity_line(identity_of(wanted)));
  ConvertReport report;
  try {
    Conversion conversion(request, events, format, *source, work);
    conversion.run();
    report = conversion.finish(std::move(wanted));
  } catch (...) {
    // Not one shard is whole, or there is the old set: nothing to continue from, so nothing in the
    // way of a run with other options.
    source.reset();
    if (replaces || !work.holds_shards()) {
      work.abandon();
    } else {
      work.drop_unfinished_files();
    }
    throw;
  }
  source.reset();  // before the folder that its scratch files are in
  put_in_place(set, work);
  work.remove();
  return report;
}

}  // namespace

ConvertReport convert(const ConvertRequest& request, const Events& events) {
  if (is_array_name(request.output)) return join_into_array(request, events);
  const Format& format = format_named(request.format);
  const Place place = look_at(request.output);
  refuse_strange_output(request, place);
  refuse_nested({request.output}, inputs_of(request));
  ConvertReport report;
  const bool is_finished =
      place == Place::dataset && !request.overwrite && !is_swapping(request.output);
  if (request.is_dry_run || is_finished) {
    // Nothing may be written to the output: the list of files spills to the temporary folder if it
    // must.
    const std::unique_ptr<Source> source = open_input(request, temporary_folder(), events);
    check_schema_fits(format, source->info().schema);
    Manifest wanted = wanted_manifest(request, source->info());
    if (is_finished) {
      report = already_complete(request, wanted, source->info());
      const bool is_newer = has_newer_input(request, source->info());
      if (is_newer || report.was_compared) {
        events.say(is_newer ? "the input is newer than the dataset; comparing its content"
                            : "the input file has changed; comparing its content");
        report.was_compared = true;
        refuse_changed_content(request, events, format, *source);
      }
      if (!request.is_dry_run) WorkFolder::clear_left(request.output);
    } else {
      report = dry_run(request, format, *source, std::move(wanted));
    }
  } else {
    report = convert_into(request, events, format);
  }
  if (request.verify && !request.is_dry_run) {
    VerifyRequest verification;
    verification.dataset = request.output;
    verification.jobs = request.jobs;
    verification.memory_bytes = request.memory_bytes;
    report.verification = verify(verification, {}, events);
    report.was_verified = true;
  }
  return report;
}

}  // namespace shale
