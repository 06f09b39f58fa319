#include "shale/sampling/bucketed_rows.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/extent_store.hpp"
#include "shale/sampling/bucket_dealer.hpp"
#include "shale/sampling/bucket_shape.hpp"

namespace shale {
namespace {

// A task of the sweep: so many steps, and rows, at most.
constexpr std::uint64_t kMostSteps = 64 << 10, kMostTaskBytes = 32 << 20;
// Of a place, its share in the lists of places, runs and ranges, and room for them to grow.
constexpr std::uint64_t kPlaceBytes = 96;
constexpr std::uint64_t kMostLoaderMemory = 16 << 20;
// Rows so close together are one range: the pages between them are read anyway.
constexpr std::uint64_t kGapBytes = 4 << 10;
constexpr std::uint64_t kRangeBytes = 256 << 10;

/// Rows that were dealt, all passes together.
void report_dealt(const Events& events, const BucketShape& shape, std::uint64_t rows) {
  events.report(rows, shape.spans.size() * shape.rows, rows * shape.row_bytes);
}

/// The first pass: moves rows from the source to the buckets.
class Sweep {
 public:
  Sweep(const LocatedRows& rows, const Draw& draw, const BucketShape& shape, unsigned jobs);
  void run(BucketDealer& dealer, const BucketShape& shape, const Events& events);

 private:
  [[nodiscard]] std::uint64_t deal_steps(BucketDealer& dealer, RowLoader& loader,
                                         std::uint64_t first, std::uint64_t last) const;
  [[nodiscard]] std::vector<BucketDealer::Run> runs_of(std::span<const DrawnPlace> places) const;

  const LocatedRows& rows_;
  const Draw& draw_;
  std::uint64_t steps_, loader_bytes_;
  unsigned workers_;
};

Sweep::Sweep(const LocatedRows& rows, const Draw& draw, const BucketShape& shape, unsigned jobs)
    : rows_(rows), draw_(draw) {
  // Two thirds for rows, one for places. A row's range may touch a page more at either end.
  const std::uint64_t least =
      std::max<std::uint64_t>(64 << 10, aligned_up(rows.row_bytes()) + 2 * kDirectAlignment);
  // Workers mostly wait for the disk, or for one another's dealing.
  workers_ = static_cast<unsigned>(std::clamp<std::uint64_t>(
      shape.source_bytes() / (least + least / 2), 1, std::uint64_t{jobs} + 2));
  const std::uint64_t share = shape.source_bytes() / workers_;
  loader_bytes_ = std::min(share / 3 * 2, kMostLoaderMemory);
  steps_ = std::min({kMostSteps, share / 3 / kPlaceBytes, kMostTaskBytes / rows.row_bytes()});
  steps_ = std::max<std::uint64_t>(steps_, 1);
}

void Sweep::run(BucketDealer& dealer, const BucketShape& shape, const Events& events) {
  std::vector<RowLoader> loaders;
  for (unsigned i = 0; i < workers_; ++i) loaders.emplace_back(rows_, loader_bytes_);
  OrderedPipeline<std::uint64_t> pipeline(workers_);
  const std::uint64_t all = draw_.sweep_steps();
  std::uint64_t dealt = 0;
  for (std::uint64_t first = 0; first < all || pipeline.pending() > 0;) {
    if (first < all && pipeline.pending() < 2 * std::size_t{workers_}) {
      const std::uint64_t last = first + std::min(steps_, all - first);
      pipeline.submit([this, &dealer, &loaders, first, last](unsigned worker) {
        return deal_steps(dealer, loaders[worker], first, last);
      });
      first = last;
      continue;
    }
    dealt += pipeline.take();
    report_dealt(events, shape, dealt);
    events.stop_if_asked();
  }
}

std::uint64_t Sweep::deal_steps(BucketDealer& dealer, RowLoader& loader, std::uint64_t first,
                                std::uint64_t last) const {
  const std::vector<DrawnPlace> places = draw_.sweep(first, last);
  std::vector<BucketDealer::Run> runs = runs_of(places);
  const std::uint64_t row_bytes = rows_.row_bytes();
  std::vector<ColumnRange> ranges;
  ranges.reserve(runs.size());
  for (const BucketDealer::Run& run : runs) {
    const std::uint64_t count = run.places.back().row - run.first_row + 1;
    ranges.push_back({run.first_row * row_bytes, count * row_bytes});
  }
  for (std::size_t done = 0; done < runs.size();) {
    const std::size_t loaded = loader.load(std::span(ranges).subspan(done));
    const std::span<BucketDealer::Run> window = std::span(runs).subspan(done, loaded);
    for (std::size_t i = 0; i < loaded; ++i) window[i].bytes = loader.loaded(i).data();
    dealer.deal(window);
    done += loaded;
  }
  return places.size();
}

/// Places whose rows are read as one range each, of one file, not larger than a loader takes.
std::vector<BucketDealer::Run> Sweep::runs_of(std::span<const DrawnPlace> places) const {
  const std::uint64_t most_bytes = std::min(kRangeBytes, loader_bytes_ / 2);
  const std::uint64_t most_rows = std::max<std::uint64_t>(most_bytes / rows_.row_bytes(), 1);
  const std::uint64_t gap_rows = kGapBytes / rows_.row_bytes() + 1;
  std::vector<BucketDealer::Run> runs;
  for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    const std::uint64_t first = places[begin].row;
    if (first >= rows_.rows())
      throw Error(Code::bug, "row {} was drawn, of {}", first, rows_.rows());
    const std::uint64_t stop = std::min(first + most_rows, rows_.end_of_file(first));
    for (end = begin + 1; end < places.size(); ++end) {
      if (places[end].row >= stop || places[end].row - places[end - 1].row > gap_rows) break;
    }
    runs.push_back({nullptr, first, places.subspan(begin, end - begin)});
  }
  return runs;
}

/// Deals each bucket to those of the next level.
std::vector<Bucket> deal_again(std::vector<Bucket> buckets, ExtentStore& store,
                               const BucketShape& shape, std::size_t level, unsigned jobs,
                               const Events& events) {
  std::optional<BucketDealer> dealer;
  BucketReading reading(store, shape, jobs);  // goes first: its threads use the dealer
  std::vector<Bucket> smaller;
  std::uint64_t dealt = level * shape.rows;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::uint64_t rows = buckets[i].bytes / shape.entry_bytes();
    dealer.emplace(store, shape, rows, shape.spans[level]);
    reading.submit(std::move(buckets[i]), [&](Bytes entries) { dealer->deal_again(entries); });
    reading.take(events);
    for (Bucket& bucket : dealer->finish()) smaller.push_back(std::move(bucket));
    report_dealt(events, shape, dealt += rows);
  }
  return smaller;
}

/// The last pass: buckets, each put in order.
class BucketedRows : public DrawnRows {
 public:
  BucketedRows(std::unique_ptr<ExtentStore> store, std::vector<Bucket> buckets,
               const BucketShape& shape, unsigned jobs, const Events& events)
      : events_(events),
        shape_(shape),
        store_(std::move(store)),
        buckets_(std::move(buckets)),
        output_bytes_(shape.spans.back() * shape.row_bytes),
        outputs_(memory_.require(std::min<std::uint64_t>(BucketShape::kOutputs, buckets_.size()) *
                                 output_bytes_)),
        reading_(*store_, shape, jobs) {}

  Bytes next() override {
    while (submitted_ < buckets_.size() && submitted_ < taken_ + BucketShape::kOutputs) submit();
    if (taken_ == buckets_.size()) return {};
    reading_.take(events_);
    const std::size_t bucket = taken_++;
    return output(bucket).first(rows_in(bucket) * shape_.row_bytes);
  }

 private:
  [[nodiscard]] std::span<std::byte> output(std::size_t bucket) const {
    return outputs_.subspan(bucket % BucketShape::kOutputs * output_bytes_, output_bytes_);
  }
  [[nodiscard]] std::uint64_t rows_in(std::size_t bucket) const {
    const std::uint64_t first = bucket * shape_.spans.back();
    return std::min(shape_.spans.back(), shape_.rows - first);
  }
  void submit() {
    const std::size_t bucket = submitted_++;
    reading_.submit(std::move(buckets_[bucket]),
                    [this, into = output(bucket), rows = rows_in(bucket)](Bytes entries) {
                      put_in_order(entries, into, rows);
                    });
  }
  void put_in_order(Bytes entries, std::span<std::byte> into, std::uint64_t rows) const;

  const Events& events_;
  const BucketShape shape_;
  const std::unique_ptr<ExtentStore> store_;
  std::vector<Bucket> buckets_;
  const std::uint64_t output_bytes_;
  AlignedBuffer memory_;
  const std::span<std::byte> outputs_;
  std::size_t submitted_ = 0, taken_ = 0;
  BucketReading reading_;  // last: it fills the outputs
};

void BucketedRows::put_in_order(Bytes entries, std::span<std::byte> into,
                                std::uint64_t rows) const {
  with_row_bytes(shape_.row_bytes, [&](auto constant) {
    const std::uint64_t row_bytes = constant() != 0 ? constant() : shape_.row_bytes;
    const std::byte* const end = entries.data() + entries.size();
    for (const std::byte* entry = entries.data(); entry != end;
         entry += sizeof(BucketTag) + row_bytes) {
      BucketTag slot = 0;
      std::memcpy(&slot, entry, sizeof(slot));
      // It went over a disk: nothing is written outside of the memory, whatever came back.
      if (slot >= rows)
        throw Error(Code::io, "slot {} came back from the scratch file, of {}", slot, rows);
      std::memcpy(into.data() + slot * row_bytes, entry + sizeof(slot), row_bytes);
    }
  });
}

void require_all(std::span<const Bucket> buckets, const BucketShape& shape) {
  std::uint64_t bytes = 0;
  for (const Bucket& bucket : buckets) bytes += bucket.bytes;
  if (bytes == shape.rows * shape.entry_bytes()) return;
  throw Error(Code::bug, "{} slots were drawn, of {}", bytes / shape.entry_bytes(), shape.rows);
}

/// Rows without bytes, or none.
class NoBytes : public DrawnRows {
 public:
  Bytes next() override { return {}; }
};

}  // namespace

std::unique_ptr<DrawnRows> open_bucketed_rows(const LocatedRows& rows, const Draw& draw,
                                              const BucketLimits& limits, const Events& events) {
  if (rows.row_bytes() == 0 || draw.rows() == 0) return std::make_unique<NoBytes>();
  const BucketShape shape = shape_buckets(rows.row_bytes(), draw.rows(), limits.memory_bytes);
  draw.prepare_sweep(events);
  auto store = std::make_unique<ExtentStore>(limits.scratch_folder, shape.extent_bytes,
                                             shape.buffers, shape.scratch_bytes());
  std::vector<Bucket> buckets;
  {
    BucketDealer dealer(*store, shape, shape.rows, shape.spans[0]);
    Sweep(rows, draw, shape, limits.jobs).run(dealer, shape, events);
    buckets = dealer.finish();
    store->settle();
  }
  for (std::size_t level = 1; level < shape.spans.size(); ++level) {
    buckets = deal_again(std::move(buckets), *store, shape, level, limits.jobs, events);
    store->settle();
  }
  require_all(buckets, shape);
  store->drop_buffers();
  return std::make_unique<BucketedRows>(std::move(store), std::move(buckets), shape, limits.jobs,
                                        events);
}

}  // namespace shale
