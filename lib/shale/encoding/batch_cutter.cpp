#include "shale/encoding/batch_cutter.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <sys/resource.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/numbers/casts.hpp"

namespace shale {
namespace {

// Files of shards that batches in flight may keep open, a batch: what the process may open, less
// what it needs itself.
std::size_t open_shards_a_batch(std::size_t most_in_flight) {
  constexpr std::uint64_t kOwnFiles = 40, kFilesAShard = 3;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= kOwnFiles) return 1;
  return std::max<std::size_t>(1, (limit.rlim_cur - kOwnFiles) / (kFilesAShard * most_in_flight));
}

// Of an element that is located: its place as it was read and as it is written, and its value.
constexpr std::uint64_t kElementBytes = 2 * sizeof(FieldPlace) + sizeof(Bytes);

// Of each further record of a run.
std::uint64_t record_overhead(std::size_t fields) {
  return std::max(kSampleOverheadBytes, fields * kRecordFieldBytes);
}

// Of the files that it has, those that are not its fields but the elements of one.
std::size_t elements_in_files(const PendingSample& sample) {
  return sample.files.size() - std::min(sample.files.size(), sample.cells.size());
}

std::uint64_t cost(const PendingSample& sample, std::uint64_t records) {
  const std::size_t fields = sample.cells.size();
  return sample.bytes + 2 * sample.key.size() + sample_overhead(fields) +
         elements_in_files(sample) * kFieldOverheadBytes + sample.elements.size() * kElementBytes +
         (records - 1) * record_overhead(fields);
}

// Of a fixed row: what of it is held twice, as it is read and as it is cast.
std::uint64_t bytes_cast_of_row(const SourceInfo& source) {
  std::uint64_t bytes = 0;
  if (!source.casts) return bytes;
  for (const FieldNumbersCast& cast : source.casts->fields())
    bytes += fixed_bytes_of(cast.before()).value();
  return bytes;
}

// Of a sample that stays unread.
std::uint64_t unread_cost(const PendingSample& sample, const SourceInfo& source) {
  return cost(sample, 1) - sample.bytes + held_bytes(sample, source);
}

Error over_budget(const PendingSample& sample, std::uint64_t memory_bytes) {
  if (sample.bytes > memory_bytes)
    return sample_over_memory(sample.bytes, memory_bytes).for_sample(sample.key);
  const bool has_files = elements_in_files(sample) > 0;
  return Error(Code::limit,
               "sample of {} takes {} bytes in memory, but --memory leaves {} for samples",
               has_files ? format_counted(sample.files.size(), "file", "files")
                         : format_counted(sample.cells.size(), "field", "fields"),
               cost(sample, 1), memory_bytes)
      .for_sample(sample.key)
      .hint(memory_for_sample_hint(cost(sample, 1)) + (has_files ? "" : "; or pass fewer fields"));
}

}  // namespace

void refuse_over_budget(const PendingSample& sample, const SourceInfo& source, bool leaves_large,
                        std::uint64_t memory_bytes) {
  if (cost(sample, 1) <= memory_bytes) return;
  if (!leaves_large || unread_cost(sample, source) > memory_bytes)
    throw over_budget(sample, memory_bytes);
}

BatchCutter::BatchCutter(Source& source, SharedBudget& budget, unsigned jobs, Runs runs,
                         std::function<void()> stop_if_asked)
    : source_(source),
      runs_(runs),
      budget_(budget),
      most_in_flight_(most_batches_in_flight(jobs)),
      batch_bytes_(bytes_of_batch(budget.limit(), jobs)),
      batch_results_(budget.limit() / 3 / most_in_flight_),
      most_shards_(open_shards_a_batch(most_in_flight_)),
      next_number_(runs.first),
      left_out_(runs.left_out),
      stop_if_asked_(std::move(stop_if_asked)) {}

std::optional<Batch> BatchCutter::next(std::size_t in_flight) {
  if (in_flight >= most_in_flight_) return std::nullopt;
  if (!waiting_) gather();
  if (!waiting_) return std::nullopt;
  const bool is_ready =
      (is_large(*waiting_) && reuse_large_buffer(*waiting_)) || lease_for(*waiting_);
  if (!is_ready) return std::nullopt;
  return std::exchange(waiting_, std::nullopt);
}

// With the lease that it has, if that is not far more than what is needed.
bool BatchCutter::reuse_large_buffer(Batch& batch) {
  const auto fits = [&](const LargeBuffer& kept) {
    return kept.lease.bytes() >= waiting_cost_ && kept.lease.bytes() / 2 <= waiting_cost_;
  };
  const auto found = std::ranges::find_if(large_buffers_, fits);
  if (found == large_buffers_.end()) return false;
  batch.buffer = std::move(found->buffer);
  batch.lease = std::move(found->lease);
  large_buffers_.erase(found);
  return true;
}

bool BatchCutter::lease_for(Batch& batch) {
  std::uint64_t bytes = waiting_cost_;
  if (is_large(batch)) {
    // In steps of an eighth, so that the buffer will do for others of about this size.
    const std::uint64_t step = std::bit_floor(bytes) / 8;
    bytes = std::min((bytes + step - 1) / step * step, budget_.limit());
  }
  std::optional<SharedBudget::Hold> lease = budget_.try_acquire(bytes);
  while (!lease && !large_buffers_.empty()) {
    large_buffers_.pop_back();
    lease = budget_.try_acquire(bytes);
  }
  if (!lease) return false;
  batch.lease = std::move(*lease);
  if (is_large(batch)) {
    batch.buffer.require(bytes);  // memory that is not touched costs nothing
  } else if (!buffers_.empty()) {
    batch.buffer = std::move(buffers_.back());
    buffers_.pop_back();
  }
  // As large as any other, so that each is enough for all: one that grows is filled again.
  if (!is_large(batch)) batch.buffer.require(batch_bytes_);
  return true;
}

std::uint64_t BatchCutter::cost_of(const PendingSample& sample) const {
  return cost(sample, runs_.are_encoded_whole ? 1 : sample.rows);
}

// How many rows the source may give to the batch that is being gathered; none: it is full.
std::uint64_t BatchCutter::most_rows() const {
  const std::optional<std::uint64_t> row_bytes = source_.info().row_bytes;
  if (!row_bytes) return 1;
  const std::size_t fields = source_.info().schema.fields.size();
  const std::uint64_t a_run = sample_overhead(fields);
  const std::uint64_t a_row = *row_bytes + bytes_cast_of_row(source_.info()) +
                              (runs_.are_encoded_whole ? 0 : record_overhead(fields));
  // A run of very many columns is worth its overhead.
  const std::uint64_t room = std::max({batch_bytes_, std::min(budget_.limit(), 2 * a_run),
                                       std::min(budget_.limit() / most_in_flight_, 8 * a_run)});
  const std::uint64_t taken = waiting_cost_ + a_run;
  std::uint64_t rows = (room - std::min(room, taken)) / std::max<std::uint64_t>(1, a_row);
  if (waiting_cost_ == 0) rows = std::max<std::uint64_t>(rows, 1);
  if (runs_.rows_a_shard) {
    // Where no shard holds a row, the first one is refused by itself, with what it takes.
    const std::uint64_t shard = std::max<std::uint64_t>(*runs_.rows_a_shard, 1);
    rows = std::min(rows, shard - (next_number_ - left_out_) % shard);
  }
  return rows;
}

// The results of all batches in flight have room until they are committed: TransformShares gives
// them a third of what the payload has. Workers that find none leave their samples to the thread
// that commits.
std::uint64_t BatchCutter::results_of(const PendingSample& sample) const {
  const auto& transform = source_.info().transform;
  return transform ? transform->likely_bytes(sample) : 0;
}

// Of the sample that was read last, which is larger than the budget.
std::uint64_t BatchCutter::cost_unread() const {
  const PendingSample& sample = *held_over_;
  if (const std::uint64_t needed = unread_cost(sample, source_.info());
      runs_.leaves_large && needed <= budget_.limit())
    return has_images_of_unknown_size(sample, source_.info()) ? budget_.limit() : needed;
  throw over_budget(sample, budget_.limit()).for_sample(sample.key, next_number_);
}

void BatchCutter::gather() {
  Batch batch;
  batch.first = next_number_;
  waiting_cost_ = 0;
  std::size_t shards = 0;
  std::uint64_t results = 0;
  for (;;) {
    if (!held_over_) {
      const std::uint64_t rows = most_rows();
      if (rows == 0) break;
      if (stop_if_asked_) stop_if_asked_();
      held_over_ = source_.next(rows);
    }
    if (!held_over_) break;
    std::uint64_t needed = cost_of(*held_over_);
    const bool is_over = needed > budget_.limit();
    if (is_over && !batch.pending.empty()) break;
    if (is_over) needed = cost_unread();
    const std::uint64_t more_results = results_of(*held_over_);
    if (!batch.pending.empty() &&
        (waiting_cost_ + needed > batch_bytes_ || results + more_results > batch_results_))
      break;
    if (batch.pending.empty() || held_over_->keeps_open != batch.pending.back().keeps_open) {
      if (shards > 0 && shards == most_shards_) break;
      shards += held_over_->keeps_open ? 1 : 0;
    }
    batch.leaves_large = is_over;
    waiting_cost_ += needed;
    results += more_results;
    batch.bytes += held_over_->bytes;
    next_number_ += held_over_->rows;
    if (!held_over_->damage.empty()) left_out_ += held_over_->rows;
    batch.pending.push_back(std::move(*held_over_));
    held_over_.reset();
    if (is_over) break;
  }
  if (batch.pending.empty()) return;
  waiting_ = std::move(batch);
}

void BatchCutter::recycle(Batch batch) {
  const std::uint64_t capacity = batch.buffer.capacity();
  if (!is_large(capacity)) return buffers_.push_back(std::move(batch.buffer));
  if (batch.lease.bytes() >= capacity)
    large_buffers_.push_back({std::move(batch.buffer), std::move(batch.lease)});
}

}  // namespace shale
