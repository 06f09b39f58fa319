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
#include "shale/shards/shard_bounds.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/targets/conversion.hpp"
#include "shale/targets/dataset_output.hpp"
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

}  // namespace

Hash128 fingerprint_of_stream(const DatasetDigest& digest) {
  Hasher128 hasher;
  hasher.update(as_bytes(fmt::format("{}\n{}\n{}\n{}\n", kProgramKind, digest.samples,
                                     digest.ordered.hex(), digest.keys.hex())));
  return hasher.digest();
}

struct SampleWriter::Impl {
  const ConvertRequest request;
  const Format& format;
  const OptionSet format_options;
  std::unique_ptr<Target> target;
  bool is_begun = false, is_whole = false;
  Manifest wanted;
  std::optional<SampleQueue> queue;
  std::unique_ptr<ShardSizer> sizer;  // of a shard with no sample yet
  std::optional<IndexColumns> columns;
  std::uint64_t most_bytes = 0;  // of a file of a shard
  std::mutex ending;
  std::future<ConvertReport> result;
  std::jthread thread;

  explicit Impl(const ConvertRequest& the_request)
      : request(the_request),
        format(format_named(request.format)),
        format_options(format.options),
        target(target_of(request)) {
    look();  // before there is a work folder, so that a refusal leaves no trace
    target->take();
    try {
      look();
    } catch (...) {
      drop();
      throw;
    }
  }

  void look() const {
    target->look({});
    if (!target->is_finished()) return;
    throw Error(Code::exists, "already holds a finished dataset")
        .at(request.output)
        .hint("choose another output, or pass --overwrite to replace it");
  }

  // What another command began stays; so does what is whole, to be put in its place.
  void drop() noexcept {
    if (!target) return;
    if (!is_begun) target->leave(Code::usage);
    if (is_begun && !is_whole) target->discard();
    target.reset();
  }

  void begin(Schema schema, std::vector<std::string> classes) {
    SourceInfo info;
    info.manifest.kind = kProgramKind;
    info.schema = std::move(schema);
    info.classes = std::move(classes);
    info.keys_are_unique = !info.schema.has_keys;
    target->accept(info, {});
    if (request.order.part) info.part = PartOfInput{.number = *request.order.part};
    wanted = wanted_manifest(request, info);
    wanted.layout = format.layout(info.schema, format_options);
    if (info.schema.has_keys && !wanted.layout.has_keys) {
      throw Error(Code::unsupported, "format '{}' holds no keys for such fields", format.name)
          .hint("leave out keys, or choose another format");
    }
    if (request.order.part && wanted.layout.has_keys && !info.schema.has_keys) {
      throw Error(Code::usage,
                  "parts without keys: samples would be named by their numbers, which "
                  "are the same in each part")
          .hint("give the samples keys that are unique in the whole dataset");
    }
    const std::string head = target->describe(info).head;
    target->refuse_taken(info, head);
    target->work().clear();
    target->work().begin(head);
    is_begun = true;
    const std::uint64_t memory_bytes = memory_for_samples(request.memory_bytes, info);
    const ShardSetWriter::Options division = target->division(info.schema);
    most_bytes = division.file_name.empty() ? division.limit_bytes : kAnySize;
    sizer = format.create_sizer(info.schema, format_options);
    columns.emplace(info.schema, wanted.layout);
    queue.emplace(std::move(info), memory_bytes, request.jobs);
    std::packaged_task<ConvertReport()> task([this] { return run(); });
    result = task.get_future();
    thread = std::jthread(std::move(task));
  }

  ConvertReport run() {
    Events events;
    events.should_stop = [this] { return queue->is_stopped(); };
    try {
      ConvertReport report = write_samples(events);
      target->complete(nullptr, report, events);
      refuse_findings(report.verification, request.output);
      is_whole = true;
      target->place(report);
      target.reset();  // another writer may take the output now
      if (request.verify && !report.was_verified)
        verify_output(request, request.output, report, events);
      refuse_findings(report.verification, request.output);
      return report;
    } catch (...) {
      drop();
      queue->fail(std::current_exception());
      throw;
    }
  }

  ConvertReport write_samples(const Events& events) {
    ShardSetWriter::Options options = target->division(queue->info().schema);
    options.io = request.io;
    options.memory_bytes = request.memory_bytes;
    options.keys_are_unique = queue->info().keys_are_unique;
    ShardSetWriter shards(format, queue->info().schema, format_options, target->work(),
                          std::move(options));
    const Encoding encoding{format, format_options, shards.layout(), OnError::fail};
    encode_all(*queue, queue->info(), encoding, {.jobs = request.jobs}, events,
               [&](const EncodedSample& sample) { shards.append(*sample.record); });
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
    return report;
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
    const std::uint64_t limit = std::min(most_bytes, format.can.largest_record);
    if (bytes + kMostAdded + kMostAddedAField * sample.values.size() <= limit) return;
    std::vector<std::uint64_t> parts;
    for (const Blob& part : format.encode(sample, queue->info().schema, format_options).parts)
      parts.push_back(part.size());
    const std::uint64_t needed = largest_file_of(sizer->size_with(parts), 1, elements, *columns);
    if (needed > most_bytes)
      throw sample_too_large(needed, most_bytes).for_sample(sample.key, queue->samples());
  }
};

SampleWriter::SampleWriter(const ConvertRequest& request)
    : impl_(std::make_unique<Impl>(request)) {}

SampleWriter::~SampleWriter() { abandon(); }

void SampleWriter::begin(Schema schema, std::vector<std::string> classes) {
  impl_->begin(std::move(schema), std::move(classes));
}

bool SampleWriter::try_add(const Sample& sample) {
  impl_->refuse_too_large(sample);
  return impl_->queue->try_add(sample);
}

void SampleWriter::add(const Sample& sample, const Events& events) {
  impl_->refuse_too_large(sample);
  impl_->queue->add(sample, events);
}

std::uint64_t SampleWriter::samples() const { return impl_->queue->samples(); }

ConvertReport SampleWriter::finish(const Events& events) {
  const std::lock_guard lock(impl_->ending);
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
  if (!impl_->queue) impl_->drop();
}

}  // namespace shale
