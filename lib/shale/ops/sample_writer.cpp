#include "shale/ops/sample_writer.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/encoding/sample_queue.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/requests/choose_output.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/shards/common_keys.hpp"
#include "shale/shards/shard_bounds.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/targets/conversion.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/resumption.hpp"
#include "shale/targets/run_state.hpp"
#include "shale/targets/shard_target.hpp"
#include "shale/targets/target_of.hpp"

namespace shale {
namespace {

// How long a signal may have to wait to be looked at.
constexpr std::chrono::milliseconds kPatience{50};

// What a container adds to a sample is less than this, and so much for each field.
constexpr std::uint64_t kMostAdded = 64 * 1024, kMostAddedAField = 4 * 1024;

void refuse_findings(const VerifyReport& verification, const std::string& output) {
  if (verification.findings == 0) return;
  const Finding& first = verification.first_findings.front();
  throw Error(Code::damaged, "{} after it was written; the first one: {}",
              format_counted(verification.findings, "finding", "findings"), first.message)
      .at(first.file.empty() ? output : first.file)
      .hint(fmt::format("run 'shale verify {}' to list all the damage", printable(output)));
}

Error taken(const ConvertRequest& request) {
  return Error(Code::exists, "already holds a finished dataset").at(request.output);
}

void refuse_file_to_resume(const ConvertRequest& request) {
  const OutputKind kind = kind_of_output(request);
  if (kind == OutputKind::shards || kind == OutputKind::appended) return;
  throw Error(Code::usage,
              "an output that is one file cannot be continued: a kill leaves none of it")
      .at(request.output)
      .hint("leave out resume, or choose a directory of shards as output");
}

// The report of the finished set that stands there. Errors: same as already_complete.
ConvertReport finished_before(const ConvertRequest& request, const Manifest& stands,
                              const SourceInfo& info) {
  Manifest wanted = wanted_manifest(request, info);
  wanted.source.samples = stands.source.samples;
  wanted.source.bytes = stands.source.bytes;
  wanted.source.fingerprint = stands.source.fingerprint;
  return already_complete(request, wanted, info);
}

}  // namespace

Hash128 fingerprint_of_stream(const DatasetDigest& digest) {
  Hasher128 hasher;
  hasher.update(as_bytes(fmt::format("{}\n{}\n{}\n{}\n", kProgramKind, digest.samples,
                                     digest.ordered.hex(), digest.keys.hex())));
  return hasher.digest();
}

struct SampleWriter::Impl {
  const bool resumes;
  std::unique_ptr<Target> target;
  ConvertRequest request;  // an append takes what is left open from the dataset
  bool is_begun = false, is_whole = false;
  std::optional<ConvertReport> complete;  // what stands there already: nothing is written
  std::uint64_t resumed = 0;              // samples that an earlier run has written
  std::uint64_t shards_before = 0;        // in which they are
  std::optional<OptionSet> format_options;
  Manifest wanted;
  std::optional<SampleQueue> queue;
  std::unique_ptr<ShardSizer> sizer;  // of a shard with no sample yet
  std::optional<IndexColumns> columns;
  std::uint64_t most_bytes = 0, most_record_bytes = 0;  // of a file of a shard, of a sample in it
  std::mutex ending;
  std::future<ConvertReport> result;
  std::jthread thread;

  Impl(const ConvertRequest& the_request, bool may_resume)
      : resumes(may_resume), request(the_request) {
    request.is_run_again = resumes;
    refuse_stream(request.output);
    target = target_of(request);
    refuse_combinations(request);
    if (resumes) refuse_file_to_resume(request);
    look();  // before there is a work folder, so that a refusal leaves no trace
    if (complete) {
      target.reset();
      clear_left_of_finished(request.output);
      return;
    }
    target->take();
    try {
      look();
      request = target->request();
    } catch (...) {
      drop(Code::usage);
      throw;
    }
    if (complete) {
      target->work().remove();
      target.reset();
      return;
    }
    if (resumes && asks_to_continue(request, target->left()))
      resumed = target->left().state.samples;
  }

  [[nodiscard]] const Format& format() const { return format_named(request.format); }

  void look() {
    target->look({});
    if (!target->is_finished()) return;
    if (!resumes)
      throw Error(taken(request)).hint("choose another output, or pass --overwrite to replace it");
    const Manifest stands = read_manifest(request.output);
    complete = finished_before(request, stands, info_of(stands.schema, stands.classes));
    resumed = stands.digest.samples;
  }

  [[nodiscard]] SourceInfo info_of(Schema schema, std::vector<std::string> classes) const {
    SourceInfo info;
    info.manifest.kind = kProgramKind;
    info.schema = std::move(schema);
    info.classes = std::move(classes);
    info.keys_are_unique = !info.schema.has_keys;
    if (request.order.part) info.part = PartOfInput{.number = *request.order.part};
    return info;
  }

  // What another command began stays; so does what is whole, to be put in its place, and what the
  // next run goes on with. Not where two samples have one key: there is no going on with that.
  void drop(Code code) noexcept {
    if (!target) return;
    if (!is_begun) {
      target->leave(Code::usage);
    } else if (!is_whole && resumes && code != Code::schema && target->work().holds_shards()) {
      target->work().drop_unfinished_files();
    } else if (!is_whole) {
      target->discard();
    }
    target.reset();
  }

  void begin(Schema schema, std::vector<std::string> classes) {
    SourceInfo info = info_of(std::move(schema), std::move(classes));
    if (complete) {
      (void)finished_before(request, complete->manifest, info);
      return;
    }
    target->accept(info, {});
    PlannedRun run = target->describe(info);
    wanted = std::move(run.wanted);
    format_options.emplace(format().options);
    wanted.layout = format().layout(info.schema, *format_options);
    refuse_keys(info);
    begin_journal(info, run.head);
    const std::uint64_t memory_bytes = memory_for_samples(request.memory_bytes, info);
    ShardSetWriter::Options division = target->division(info.schema);
    take_class_names(division, info);
    most_bytes = bytes_for_samples(format(), division);
    most_record_bytes = std::min(most_bytes, format().can.largest_record);
    sizer = format().create_sizer(info.schema, *format_options);
    columns.emplace(info.schema, wanted.layout);
    const Manifest* const before = target->appended_to();
    queue.emplace(std::move(info), memory_bytes, request.jobs,
                  before != nullptr ? before->digest.samples : 0, division.limit_samples);
    std::packaged_task<ConvertReport()> task([this] { return this->run(); });
    result = task.get_future();
    thread = std::jthread(std::move(task));
  }

  void refuse_keys(const SourceInfo& info) const {
    if (info.schema.has_keys && !wanted.layout.has_keys) {
      throw Error(Code::unsupported, "format '{}' holds no keys for such fields", format().name)
          .hint("leave out keys, or choose another format");
    }
    if (request.order.part && wanted.layout.has_keys && !info.schema.has_keys) {
      throw Error(Code::usage,
                  "parts without keys: samples would be named by their numbers, which "
                  "are the same in each part")
          .hint("give the samples keys that are unique in the whole dataset");
    }
  }

  // What was said to have been written is never discarded: the program leaves it out.
  void begin_journal(SourceInfo& info, const std::string& head) {
    target->refuse_taken(info, head);
    if (resumed > 0) {
      ConvertRequest unforced = request;
      unforced.overwrite = false;
      refuse_other_run(unforced, target->left(), head);
    }
    std::optional<RunState> from;
    if (resumes) from = resumption_of(request, target->left(), head);
    WorkFolder& work = target->work();
    if (from) {
      work.resume(target->left().journal);
    } else {
      work.clear();
      work.begin(head);
    }
    is_begun = true;
    shards_before = work.shards();
    work.for_each_shard([&](const ManifestShard& shard) {
      info.manifest.samples += shard.digest.samples;
      info.manifest.bytes += shard.payload_bytes;
    });
  }

  ConvertReport run() {
    Events events;
    events.should_stop = [this] { return queue->is_stopped(); };
    try {
      ConvertReport report = write_samples(events);
      target->complete(nullptr, report, events);
      refuse_findings(report.verification, request.output);
      if (report.was_complete) {
        target->work().remove();
      } else {
        is_whole = true;
        target->place(report);
      }
      target.reset();  // another writer may take the output now
      if (request.verify && !report.was_verified)
        verify_output(request, request.output, report, events);
      refuse_findings(report.verification, request.output);
      return report;
    } catch (const Error& error) {
      drop(error.code());
      queue->fail(std::current_exception());
      throw;
    } catch (...) {
      drop(Code::bug);
      queue->fail(std::current_exception());
      throw;
    }
  }

  ConvertReport write_samples(const Events& events) {
    RunState state;
    state.samples = resumed;
    ShardSetWriter::Options options = target->division(queue->info().schema);
    options.io = request.io;
    options.memory_bytes = request.memory_bytes;
    options.keys_are_unique = queue->info().keys_are_unique;
    take_class_names(options, queue->info());
    options.continues = shards_before > 0;
    options.state = [&state](bool) { return state_line(state); };
    ShardSetWriter shards(format(), queue->info().schema, *format_options, target->work(),
                          std::move(options));
    const Encoding encoding{format(), *format_options, shards.layout(), OnError::fail};
    encode_all(*queue, queue->info(), encoding, {.jobs = request.jobs}, events,
               [&](const EncodedSample& sample) {
                 shards.append(*sample.record);
                 state.samples += sample.record->digest.samples;
               });
    const ShardSetWriter::Summary written = shards.finish();
    ConvertReport report;
    report.file_bytes = written.file_bytes;
    report.manifest = wanted;
    report.manifest.layout = shards.layout();
    report.manifest.source = queue->info().manifest;
    report.manifest.source.fingerprint = fingerprint_of_stream(written.digest);
    report.manifest.digest = written.digest;
    report.manifest.payload_bytes = written.payload_bytes;
    report.manifest.shard_count = written.shards;
    if (shards_before > 0)
      refuse_keys_of_before(report.manifest, target->work(), shards_before, events);
    return report;
  }

  void refuse_complete() const {
    if (!complete) return;
    throw taken(request)
        .because("it has " + format_counted(resumed, "sample", "samples"))
        .hint("write none behind them, append them, or pass --overwrite");
  }

  // Here, and not by the threads, for which it would be too late to leave out one sample.
  void refuse_too_large(const Sample& sample) const {
    std::uint64_t bytes = sample.key.size(), elements = 0;
    for (const Value& value : sample.values) {
      if (const Bytes* run = std::get_if<Bytes>(&value)) bytes += run->size();
      if (const auto* list = std::get_if<std::vector<Bytes>>(&value)) {
        for (const Bytes element : *list) bytes += element.size() + sizeof(std::uint64_t);
        elements += list->size();
      }
    }
    if (bytes + kMostAdded + kMostAddedAField * sample.values.size() <= most_record_bytes) return;
    std::vector<std::uint64_t> parts;
    for (const Blob& part : format().encode(sample, queue->info().schema, *format_options).parts)
      parts.push_back(part.size());
    const std::uint64_t needed = largest_file_of(sizer->size_with(parts), 1, elements, *columns);
    if (needed > most_bytes)
      throw sample_too_large(needed, most_bytes).for_sample(sample.key, queue->samples());
  }
};

SampleWriter::SampleWriter(const ConvertRequest& request, bool resumes)
    : impl_(std::make_unique<Impl>(request, resumes)) {}

SampleWriter::~SampleWriter() { abandon(); }

const Manifest* SampleWriter::appended_to() const {
  return impl_->target ? impl_->target->appended_to() : nullptr;
}

std::uint64_t SampleWriter::resumed() const { return impl_->resumed; }

bool SampleWriter::is_complete() const { return impl_->complete.has_value(); }

void SampleWriter::begin(Schema schema, std::vector<std::string> classes) {
  impl_->begin(std::move(schema), std::move(classes));
}

bool SampleWriter::try_add(const Sample& sample) {
  impl_->refuse_complete();
  impl_->refuse_too_large(sample);
  return impl_->queue->try_add(sample);
}

void SampleWriter::add(const Sample& sample, const Events& events) {
  impl_->refuse_complete();
  impl_->refuse_too_large(sample);
  impl_->queue->add(sample, events);
}

std::uint64_t SampleWriter::samples() const {
  return impl_->queue ? impl_->queue->samples() : impl_->resumed;
}

ConvertReport SampleWriter::finish(const Events& events) {
  const std::lock_guard lock(impl_->ending);
  if (impl_->complete) return *impl_->complete;
  impl_->queue->finish();
  while (impl_->result.wait_for(kPatience) != std::future_status::ready) events.stop_if_asked();
  impl_->thread.join();
  return impl_->result.get();
}

void SampleWriter::abandon() noexcept {
  if (!impl_) return;
  const std::lock_guard lock(impl_->ending);
  if (impl_->thread.joinable()) {
    impl_->queue->stop();
    impl_->thread.join();
  }
  if (!impl_->queue) impl_->drop(Code::usage);
}

}  // namespace shale
