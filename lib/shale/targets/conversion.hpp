#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/encoding/encode_batch.hpp"
#include "shale/encoding/written_images.hpp"
#include "shale/format/format.hpp"
#include "shale/format/source.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/requests/convert_request.hpp"
#include "shale/shards/shard_bounds.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/targets/run_state.hpp"

// What a conversion into a dataset and one into a single file have in common: all but where the
// result comes to stand.

namespace shale {

/// Of request.memory_bytes, divided: what is left for samples in flight after the list of files, or
/// what else the source holds, and the write buffers.
[[nodiscard]] std::uint64_t memory_for_samples(std::uint64_t memory_bytes,
                                               const SourceInfo& source);

/// refuse_too_large for a conversion; where more memory would do, the hint says how much.
void refuse_unfit_samples(const ConvertRequest& request, const Format& format,
                          const SourceInfo& source, std::uint64_t shard_bytes);

/// The options of the format that the request sets.
[[nodiscard]] OptionSet format_options_of(const ConvertRequest& request, const Format& format);

/// What the manifest says of a conversion before it has begun.
[[nodiscard]] Manifest wanted_manifest(const ConvertRequest& request, const SourceInfo& source);

/// Notes of the source, and that its samples are sorted by label.
void say_notes(const SourceInfo& source, const Events& events);
/// Has the writer told of the class names of the source. Those of a set that is appended to, which
/// may be more, are there before.
void take_class_names(ShardSetWriter::Options& options, const SourceInfo& source);
/// Why the files of a format do not have them, in words; nullopt: they do, or there are none.
[[nodiscard]] std::optional<std::string> why_classes_are_lost(const Format& format,
                                                              const SourceInfo& source);
/// Where the format's own readers do not get reals as numbers.
void say_how_reals_are_kept(const Format& format, const SourceInfo& source, const Events& events);

/// What is left out is called by the first field, and by whether there are images: "2 bad videos".
[[nodiscard]] std::string bad_samples_text(std::uint64_t count, const Schema& schema,
                                           bool has_images);

/// Adds to the plan what a conversion would write. Errors: same as refuse_too_large and
/// forecast_shards.
void forecast(ConvertPlan& plan, const ConvertRequest& request, const Format& format,
              Source& source, Manifest manifest, const ShardLimits& limits);

/// A run under way: one source, one set of shards, or one file, in a work folder.
class Conversion {
 public:
  /// All arguments outlive it; `work` has begun its journal. `options`: what the request does not
  /// say. `from`: where a run of the same command was, whose work this one goes on with; the source
  /// is at its first sample. `run`: of the runs that write one dataset, which names its lists.
  Conversion(const ConvertRequest& request, const Events& events, const Format& format,
             Source& source, WorkFolder& work, ShardSetWriter::Options options,
             const std::optional<RunState>& from = std::nullopt, std::uint64_t run = 0);

  /// Errors: same as encode_all and ShardSetWriter; Code::limit for more bad samples than
  /// request.max_errors.
  void run();
  /// Finishes the shards: the manifest, without lists, and what else there is to say. Errors:
  /// Code::damaged for an input that is not what its own manifest says; same as
  /// ShardSetWriter::finish.
  [[nodiscard]] ConvertReport finish(Manifest manifest);
  /// The keys of the samples that were left out: of this run, and of the one that wrote the input.
  void for_each_skipped(const std::function<void(const std::string& key)>& use);
  /// Writes the lists next to the shards, and names them in the manifest.
  void finish_lists(Manifest& manifest);
  /// What was noted of the images that it wrote, for the list of duplicates; nullopt where there is
  /// none.
  [[nodiscard]] std::optional<WrittenImages> take_written_images() {
    return std::exchange(written_images_, std::nullopt);
  }

 private:
  [[nodiscard]] ShardSetWriter::Options writer_options(ShardSetWriter::Options options,
                                                       bool continues);
  void show_earlier_skips();
  void prove_stream() const;
  void take_totals(Manifest& manifest) const;
  void note_images(const std::string& scratch_folder);
  void refuse_too_many_bad() const;
  void refuse_all_bad() const;
  void note_orientation(const SourceInfo& source) const;
  [[nodiscard]] RunState state(bool is_durable);
  void commit(const EncodedSample& sample);
  void take_changes(const EncodedSample& sample);
  void take_unfit(const EncodedSample& sample);
  void refuse_unfit() const;
  void report_image(const EncodedSample& sample);
  void tolerate(const EncodedSample& sample);
  void skip(const SkippedSample& sample);

  const ConvertRequest& request_;
  const Events& events_;
  const Format& format_;
  OptionSet format_options_;
  Source& source_;
  const WorkFolder& work_;
  const std::uint64_t shards_before_;  // of the run that this one goes on with
  const bool has_lists_;               // beside the shards
  const std::size_t shown_skips_;
  const std::optional<std::size_t> divided_by_;
  ShardSetWriter writer_;
  const std::string skipped_path_;
  CsvList skipped_list_, ignored_list_, images_list_;
  std::optional<WrittenImages> written_images_;
  RunState state_;  // but for the bytes of the lists
  std::vector<SkippedSample> first_skipped_;
  std::vector<std::string> first_bad_;  // keys, a few
  SampleId last_bad_;                   // that was tolerated
  std::string last_fault_;
  bool last_is_incomplete_ = false;                             // see is_of_sample
  const std::size_t notes_said_ = source_.info().notes.size();  // when it was opened
};

}  // namespace shale
