#include "shale/encoding/encode_pipeline.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/encoding/batch_cutter.hpp"
#include "shale/encoding/unread_sample.hpp"
#include "shale/flow/ordered_pipeline.hpp"

namespace shale {
namespace {

// While a slow read is waited for.
constexpr std::chrono::milliseconds kBetweenLooks(100);

// The image work of a pipeline, a transformer for each worker and one for the thread that commits;
// nothing if there is none.
class TransformThreads {
 public:
  TransformThreads(const SourceInfo& info, const PipelineLimits& limits) {
    if (!info.transform) return;
    budget_.emplace(limits.memory_bytes, limits.jobs + 1);
    for (unsigned i = 0; i <= limits.jobs; ++i)
      transformers_.emplace_back(*info.transform, *budget_);
  }

  [[nodiscard]] SampleTransformer* of(unsigned thread) {
    return transformers_.empty() ? nullptr : &transformers_[thread];
  }
  void stop() {
    if (budget_) budget_->is_stopped = true;
  }

 private:
  std::optional<TransformBudget> budget_;
  std::vector<SampleTransformer> transformers_;
};

// What is called between the reads of a sample that is read in pieces: it takes as long as many
// others. By a worker it ends the reading when nobody waits for it any more.
class StepsOfReading {
 public:
  explicit StepsOfReading(const Events& events) : events_(events) {}
  void take() const {
    if (is_over_) throw interruption();
    if (std::this_thread::get_id() == committing_) events_.stop_if_asked();
  }
  void stop() { is_over_ = true; }

 private:
  const Events& events_;
  const std::thread::id committing_ = std::this_thread::get_id();
  std::atomic<bool> is_over_ = false;
};

class StopOnExit {
 public:
  StopOnExit(TransformThreads& threads, StepsOfReading& steps) : threads_(threads), steps_(steps) {}
  StopOnExit(const StopOnExit&) = delete;
  StopOnExit& operator=(const StopOnExit&) = delete;
  ~StopOnExit() {
    threads_.stop();
    steps_.stop();
  }

 private:
  TransformThreads& threads_;
  StepsOfReading& steps_;
};

}  // namespace

void encode_all(Source& source, const Encoding& encoding, const PipelineLimits& limits,
                const Events& events, const std::function<void(const EncodedSample&)>& commit) {
  SharedBudget budget(payload_memory(limits.memory_bytes, source.info()));
  BatchCutter cutter(
      source, budget, limits.jobs,
      {.are_encoded_whole = encoding.layout.rows.takes_runs(),
       .rows_a_shard = limits.rows_a_shard,
       .first = limits.first,
       .left_out = limits.left_out,
       .leaves_large = may_stay_unread(source.info(), encoding.format, encoding.options)},
      [&events] { events.stop_if_asked(); });
  encode_all(cutter, source.info(), encoding, limits, events, commit);
}

void encode_all(BatchFeed& feed, const SourceInfo& info, const Encoding& encoding,
                const PipelineLimits& limits, const Events& events,
                const std::function<void(const EncodedSample&)>& commit) {
  std::vector<BatchReader> readers;
  for (unsigned i = 0; i < limits.jobs; ++i) readers.emplace_back(BatchReader::Options{});
  TransformThreads work(info, limits);
  StepsOfReading steps(events);
  const std::function<void()> step = [&steps] { steps.take(); };
  std::uint64_t done = limits.first, done_bytes = 0;
  OrderedPipeline<EncodedBatch> pipeline(limits.jobs);
  const StopOnExit stop(work, steps);  // before the pipeline waits for its threads
  const auto commit_one = [&](const EncodedSample& sample) {
    done += sample.record ? sample.record->digest.samples : 1;
    commit(sample);
  };
  std::vector<std::vector<EncodedSample>> spare;  // of tiny samples they are larger than the batch
  for (;;) {
    while (std::optional<Batch> batch = feed.next(pipeline.pending())) {
      auto shared = std::make_shared<EncodedBatch>();  // a std::function must be copyable
      shared->batch = std::move(*batch);
      if (!spare.empty()) {
        shared->samples = std::move(spare.back());
        spare.pop_back();
      }
      pipeline.submit([&info, &encoding, &readers, &work, &step, shared](unsigned worker) {
        return encode_batch(std::move(shared->batch), info, encoding, readers[worker],
                            work.of(worker), step, std::move(shared->samples));
      });
    }
    if (pipeline.pending() == 0) return;
    while (!pipeline.has_result(kBetweenLooks)) events.stop_if_asked();
    EncodedBatch encoded = pipeline.take();
    for (const EncodedSample& sample : encoded.samples) commit_one(sample);
    if (!encoded.left.empty()) {
      encoded.results = {};
      encode_left(encoded, info, encoding, *work.of(limits.jobs), [&](const EncodedSample& sample) {
        commit_one(sample);
        events.stop_if_asked();
      });
    }
    done_bytes += encoded.batch.bytes;
    encoded.samples.clear();
    spare.push_back(std::move(encoded.samples));
    encoded.results = {};
    feed.recycle(std::move(encoded.batch));
    events.stop_if_asked();
    events.report(done, info.manifest.samples, done_bytes);
  }
}

void prove_input(const SourceInfo& source, const DatasetDigest& read, const std::string& input) {
  if (!source.digest) return;
  // Of what is left out there is no digest to prove the rest by: checksums and blocks have done so.
  const bool lacks_samples = read.samples < source.manifest.samples;
  if (lacks_samples && source.on_damage == OnDamage::leave_out) return;
  const auto prove = [&](std::string_view what, const Hash128& found, const Hash128& expected) {
    if (expected == Hash128{} || found == expected) return;
    throw with_way_out(
        Error(Code::damaged,
              "the samples that were read have {} digest {}, but their manifest says {}", what,
              found.hex(), expected.hex())
            .at(input)
            .hint("run 'shale verify' on the input to locate the damage"),
        source.on_damage);
  };
  prove("content", read.content, source.digest->content);
  prove("keys", read.keys, source.digest->keys);
  prove("ordered", read.ordered, source.digest->ordered);
}

}  // namespace shale
