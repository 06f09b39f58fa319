#include "shale/encoding/sample_queue.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {
namespace {

// How long a signal may have to wait to be looked at.
constexpr std::chrono::milliseconds kPatience{50};

// Of a list, its spans too.
std::uint64_t bytes_of(const Value& value) {
  const auto* list = std::get_if<std::vector<Bytes>>(&value);
  return payload_bytes_of(value) + (list != nullptr ? list->size() * sizeof(Bytes) : 0);
}

std::uint64_t bytes_of(const Sample& sample) {
  std::uint64_t bytes = 0;
  for (const Value& value : sample.values) bytes += bytes_of(value);
  return bytes;
}

std::uint64_t cost_of(const Sample& sample) {
  return bytes_of(sample) + 2 * sample.key.size() + sample_overhead(sample.values.size());
}

}  // namespace

// One thread adds at a time. A std::timed_mutex would say the same, but gcc 12's ThreadSanitizer
// does not see it taken.
class SampleQueue::Turn {
 public:
  explicit Turn(SampleQueue& queue) : queue_(queue) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (!is_mine_) return;
    const std::lock_guard guard(queue_.mutex_);
    queue_.is_adding_ = false;
    queue_.has_turn_.notify_one();
  }

  [[nodiscard]] bool try_take() {
    const std::lock_guard guard(queue_.mutex_);
    return take();
  }
  void take(const Events& events) {
    std::unique_lock waiting(queue_.mutex_);
    while (!take()) {
      queue_.has_turn_.wait_for(waiting, kPatience);
      waiting.unlock();
      events.stop_if_asked();
      waiting.lock();
    }
  }

 private:
  bool take() {
    if (!queue_.is_adding_) queue_.is_adding_ = is_mine_ = true;
    return is_mine_;
  }

  SampleQueue& queue_;
  bool is_mine_ = false;
};

SampleQueue::SampleQueue(SourceInfo info, std::uint64_t memory_bytes, unsigned jobs,
                         std::uint64_t first_key, std::uint64_t most_samples)
    : info_(std::move(info)),
      most_in_flight_(most_batches_in_flight(jobs)),
      budget_(memory_bytes),
      batch_bytes_(std::min(memory_bytes, bytes_of_batch(memory_bytes, jobs))),
      first_key_(first_key),
      most_samples_(most_samples),
      samples_(info_.manifest.samples) {}

bool SampleQueue::try_add(const Sample& sample) {
  Turn turn(*this);
  if (!turn.try_take() || !make_room(sample)) return false;
  put(sample);
  return true;
}

void SampleQueue::add(const Sample& sample, const Events& events) {
  Turn turn(*this);
  turn.take(events);
  if (cost_of(sample) > budget_.limit()) return lend(sample, events);
  for (;;) {
    const std::uint64_t seen = [this] {
      const std::lock_guard guard(mutex_);
      return recycled_;
    }();
    if (make_room(sample)) return put(sample);
    {
      std::unique_lock waiting(mutex_);
      has_room_.wait_for(waiting, kPatience, [&] { return recycled_ != seen || failure_; });
    }
    events.stop_if_asked();
  }
}

void SampleQueue::finish() {
  Turn turn(*this);
  turn.take({});
  if (open_) hand_over();
  is_closed_ = true;
  const std::lock_guard guard(mutex_);
  is_finished_ = true;
  is_ready_.notify_one();
}

void SampleQueue::stop() noexcept {
  const std::lock_guard guard(mutex_);
  is_stopped_ = true;
  is_ready_.notify_one();
}

std::optional<Batch> SampleQueue::next(std::size_t in_flight) {
  if (in_flight >= most_in_flight_) return std::nullopt;
  std::unique_lock lock(mutex_);
  // Waiting with batches in flight could be for ever: room for the next one may be theirs.
  if (in_flight == 0)
    is_ready_.wait(lock, [this] { return !ready_.empty() || is_finished_ || is_stopped_; });
  if (is_stopped_) throw Error(Code::interrupted, "stopped before the last sample");
  if (ready_.empty()) return std::nullopt;
  Batch batch = std::move(ready_.front());
  ready_.pop_front();
  batch.first = info_.manifest.samples;
  info_.manifest.samples += batch.held.size();
  info_.manifest.bytes += batch.bytes;
  return batch;
}

void SampleQueue::recycle(Batch batch) {
  const std::lock_guard guard(mutex_);
  if (batch.is_lent) is_lending_ = false;
  // What one huge sample needed would hold memory that no lease covers.
  if (batch.buffer.capacity() <= batch_bytes_) buffers_.push_back(std::move(batch.buffer));
  if (!batch.is_lent) spare_.push_back(std::move(batch.held));
  batch = {};
  ++recycled_;
  has_room_.notify_all();
}

void SampleQueue::fail(std::exception_ptr error) noexcept {
  const std::lock_guard guard(mutex_);
  failure_ = std::move(error);
  has_failed_ = true;
  ready_.clear();
  has_room_.notify_all();
}

void SampleQueue::refuse_ended() {
  rethrow_failure();
  if (is_closed_) throw Error(Code::usage, "the writer is closed");
}

void SampleQueue::rethrow_failure() {
  if (!has_failed_) return;
  const std::lock_guard guard(mutex_);
  std::rethrow_exception(failure_);
}

// With the lease of a batch that takes the sample, it is open.
bool SampleQueue::make_room(const Sample& sample) {
  refuse_ended();
  const std::uint64_t cost = cost_of(sample);
  if (cost > budget_.limit()) return false;  // it is lent
  if (open_ && open_cost_ + cost <= open_->lease.bytes()) return true;
  if (open_) hand_over();
  const std::uint64_t needed = std::max(cost, batch_bytes_);
  const std::lock_guard guard(mutex_);
  if (needed > batch_bytes_) buffers_.clear();  // no lease covers them
  std::optional<SharedBudget::Hold> lease = budget_.try_acquire(needed);
  if (!lease) return false;
  open_.emplace().lease = std::move(*lease);
  open_cost_ = 0;
  if (!spare_.empty()) {
    emptied_ = std::move(spare_.back());
    spare_.pop_back();
  }
  if (!buffers_.empty() && needed == batch_bytes_) {
    open_->buffer = std::move(buffers_.back());
    buffers_.pop_back();
  }
  return true;
}

void SampleQueue::put(const Sample& sample) {
  Batch& batch = *open_;
  batch.buffer.require(batch.lease.bytes());
  const auto kept = [&batch](Bytes bytes) {
    const std::span<std::byte> into = batch.buffer.bytes().subspan(batch.bytes, bytes.size());
    if (!bytes.empty()) std::memcpy(into.data(), bytes.data(), bytes.size());
    batch.bytes += bytes.size();
    return Bytes(into);
  };
  Sample held;
  if (!emptied_.empty()) {
    held = std::move(emptied_.back());
    emptied_.pop_back();
    held.values.clear();
  }
  held.key = key_of(sample);
  held.sides = sample.sides;
  held.values.reserve(sample.values.size());
  for (const Value& value : sample.values) {
    if (const Bytes* run = std::get_if<Bytes>(&value)) {
      held.values.emplace_back(kept(*run));
    } else if (const auto* list = std::get_if<std::vector<Bytes>>(&value)) {
      auto& elements = std::get<std::vector<Bytes>>(held.values.emplace_back(std::vector<Bytes>()));
      elements.reserve(list->size());
      for (const Bytes element : *list) elements.push_back(kept(element));
    } else {
      held.values.push_back(value);
    }
  }
  batch.held.push_back(std::move(held));
  open_cost_ += cost_of(sample);
  ++samples_;
  if (batch.held.size() >= most_samples_) hand_over();
}

std::string SampleQueue::key_of(const Sample& sample) const {
  if (!sample.key.empty()) return sample.key;
  const std::uint64_t number = first_key_ + samples_;
  return info_.schema.has_keys ? fmt::format("{:08}", number) : std::to_string(number);
}

// A sample that is more than the whole budget: none of its bytes are copied, so they are waited
// for. Whoever wants to stop stops the pipeline, which must not read them any more.
void SampleQueue::lend(const Sample& sample, const Events& events) {
  refuse_ended();
  if (open_) hand_over();
  Batch batch;
  batch.bytes = bytes_of(sample);
  batch.is_lent = true;
  batch.held.push_back({.key = key_of(sample), .values = sample.values, .sides = sample.sides});
  ++samples_;
  std::unique_lock waiting(mutex_);
  is_lending_ = !has_failed_;
  if (is_lending_) ready_.push_back(std::move(batch));
  is_ready_.notify_one();
  std::exception_ptr stopped;
  while (is_lending_ && !failure_) {
    has_room_.wait_for(waiting, kPatience);
    waiting.unlock();
    try {
      if (!stopped) events.stop_if_asked();
    } catch (...) {
      stopped = std::current_exception();
      stop();
    }
    waiting.lock();
  }
  waiting.unlock();
  if (stopped) std::rethrow_exception(stopped);
  rethrow_failure();
}

void SampleQueue::hand_over() {
  const std::lock_guard guard(mutex_);
  if (!has_failed_) ready_.push_back(std::move(*open_));
  open_.reset();
  is_ready_.notify_one();
}

}  // namespace shale
