#include "shale/sampling/make_draw.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "shale/arrays/number_file.hpp"
#include "shale/base/error.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/flow/split_counts.hpp"
#include "shale/io/input_file.hpp"
#include "shale/sampling/listed_draw.hpp"
#include "shale/sampling/weight_sums.hpp"

namespace shale {
namespace {

/// Without replacement: slot j is row order.at(j). The sweep goes over the rows.
class PermutedDraw final : public Draw {
 public:
  PermutedDraw(std::uint64_t source_rows, std::uint64_t rows, std::uint64_t seed)
      : source_rows_(source_rows),
        rows_(rows),
        order_(std::max<std::uint64_t>(source_rows, 1), seed) {}

  [[nodiscard]] std::uint64_t source_rows() const override { return source_rows_; }
  [[nodiscard]] std::uint64_t rows() const override { return rows_; }
  [[nodiscard]] Costs costs() const override { return {.slot = 70, .step = 70}; }
  void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const override {
    std::iota(into.begin(), into.end(), first);
    order_.at_each(into);
  }

  [[nodiscard]] std::uint64_t sweep_steps() const override { return source_rows_; }
  [[nodiscard]] std::vector<DrawnPlace> sweep(std::uint64_t first,
                                              std::uint64_t last) const override {
    constexpr std::uint64_t kAtOnce = 1024;
    std::array<std::uint64_t, kAtOnce> slots;
    std::vector<DrawnPlace> places(last - first);
    std::size_t count = 0;
    while (first < last) {
      const std::span<std::uint64_t> some = std::span(slots).first(std::min(kAtOnce, last - first));
      std::iota(some.begin(), some.end(), first);
      order_.inverse_each(some);
      for (const std::uint64_t slot : some) {
        places[count] = {first++, slot};
        count += slot < rows_ ? 1 : 0;
      }
    }
    places.resize(count);
    return places;
  }

 private:
  std::uint64_t source_rows_, rows_;
  Permutation order_;
};

/// With replacement: the draws are counted in order of their rows, and shuffled over the slots. The
/// sweep goes over the draws.
class ReplacedDraw final : public Draw {
 public:
  ReplacedDraw(std::uint64_t source_rows, SplitCounts draws, std::uint64_t seed, Costs costs)
      : source_rows_(source_rows),
        costs_(costs),
        draws_(std::move(draws)),
        slots_(std::max<std::uint64_t>(draws_.draws(), 1), seed ^ kSlotSeed) {}

  [[nodiscard]] std::uint64_t source_rows() const override { return source_rows_; }
  [[nodiscard]] std::uint64_t rows() const override { return draws_.draws(); }
  [[nodiscard]] Costs costs() const override { return costs_; }
  void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const override {
    std::iota(into.begin(), into.end(), first);
    slots_.inverse_each(into);
    for (std::uint64_t& row : into) row = draws_.row_of(row);
  }

  [[nodiscard]] std::uint64_t sweep_steps() const override { return draws_.draws(); }
  [[nodiscard]] std::vector<DrawnPlace> sweep(std::uint64_t first,
                                              std::uint64_t last) const override {
    std::vector<std::uint64_t> rows(last - first), slots(last - first);
    draws_.rows_of(first, rows);
    std::iota(slots.begin(), slots.end(), first);
    slots_.at_each(slots);
    std::vector<DrawnPlace> places(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) places[i] = {rows[i], slots[i]};
    return places;
  }

 private:
  std::uint64_t source_rows_;
  Costs costs_;
  SplitCounts draws_;
  Permutation slots_;
};

std::unique_ptr<Draw> permuted(const DrawRequest& request, std::uint64_t source_rows) {
  const std::uint64_t rows = request.rows.value_or(source_rows);
  if (rows > source_rows) {
    throw Error(Code::usage, "{} rows requested without replacement from a source of {}", rows,
                source_rows)
        .hint("draw with replacement (--replace), or ask for fewer with --rows");
  }
  return std::make_unique<PermutedDraw>(source_rows, rows, request.seed);
}

std::uint64_t drawn_rows(const DrawRequest& request, std::uint64_t source_rows) {
  constexpr std::uint64_t kMostDraws = (std::uint64_t{1} << 63) - 1;
  const std::uint64_t rows = request.rows.value_or(source_rows);
  if (rows <= kMostDraws) return rows;
  throw Error(Code::usage, "{} rows requested, more than the maximum of {}", rows, kMostDraws);
}

std::unique_ptr<Draw> replaced(const DrawRequest& request, std::uint64_t source_rows,
                               std::uint64_t memory_bytes, const Events& events) {
  const std::uint64_t rows = drawn_rows(request, source_rows);
  return std::make_unique<ReplacedDraw>(source_rows,
                                        SplitCounts(source_rows, rows, request.seed, memory_bytes,
                                                    nullptr, [&] { events.stop_if_asked(); }),
                                        request.seed, Draw::Costs{.slot = 420, .step = 100});
}

std::unique_ptr<Draw> weighted(const DrawRequest& request, std::uint64_t source_rows,
                               std::uint64_t memory_bytes, const std::string& scratch_folder,
                               const Events& events) {
  const std::uint64_t rows = drawn_rows(request, source_rows);
  const NumberFile weights(request.file);
  if (weights.count() != source_rows) {
    throw Error(Code::schema, "{} weights for a source of {} rows", weights.count(), source_rows)
        .at(request.file)
        .hint("give one weight per row");
  }
  // A quarter for the sums, or for the buffers of their scratch file; half for the tree.
  SplitCounts::WeightSums sums = sums_of_weights(weights, memory_bytes / 4, scratch_folder, events);
  SplitCounts draws(source_rows, rows, request.seed, memory_bytes / 2, std::move(sums),
                    [&] { events.stop_if_asked(); });
  return std::make_unique<ReplacedDraw>(source_rows, std::move(draws), request.seed,
                                        Draw::Costs{.slot = 1500, .step = 120});
}

std::unique_ptr<Draw> listed(const DrawRequest& request, std::uint64_t source_rows,
                             std::uint64_t memory_bytes, const std::string& scratch_folder,
                             const Events& events) {
  if (request.rows) {
    throw Error(Code::usage, "{} rows requested, but a list of rows is given", *request.rows)
        .hint("leave out --rows: the list determines how many");
  }
  return open_listed_draw(request.file, source_rows, memory_bytes, scratch_folder, events);
}

class PartOfDraw final : public Draw {
 public:
  PartOfDraw(std::shared_ptr<const Draw> whole, std::uint64_t first, std::uint64_t rows)
      : whole_(std::move(whole)), first_(first), rows_(rows) {}

  [[nodiscard]] std::uint64_t source_rows() const override { return whole_->source_rows(); }
  [[nodiscard]] std::uint64_t rows() const override { return rows_; }
  [[nodiscard]] Costs costs() const override { return whole_->costs(); }
  void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const override {
    whole_->rows_of(first_ + first, into);
  }

  [[nodiscard]] ScratchNeed sweep_scratch() const override { return whole_->sweep_scratch(); }
  void prepare_sweep(const Events& events) const override { whole_->prepare_sweep(events); }
  [[nodiscard]] std::uint64_t sweep_steps() const override { return whole_->sweep_steps(); }
  [[nodiscard]] std::vector<DrawnPlace> sweep(std::uint64_t first,
                                              std::uint64_t last) const override {
    std::vector<DrawnPlace> places = whole_->sweep(first, last);
    std::erase_if(places, [this](const DrawnPlace& place) {
      return place.slot < first_ || place.slot - first_ >= rows_;
    });
    for (DrawnPlace& place : places) place.slot -= first_;
    return places;
  }

 private:
  std::shared_ptr<const Draw> whole_;
  std::uint64_t first_, rows_;
};

}  // namespace

Hash128 hash_of_draw_file(const std::string& path) {
  const InputFile file(path);
  std::vector<std::byte> piece(std::min<std::uint64_t>(file.size(), 128 * 1024));
  Hasher128 hasher;
  for (std::uint64_t offset = 0; offset < file.size(); offset += piece.size()) {
    piece.resize(std::min<std::uint64_t>(file.size() - offset, piece.size()));
    file.read_exact(offset, piece);
    hasher.update(piece);
  }
  return hasher.digest();
}

std::unique_ptr<Draw> make_draw(const DrawRequest& request, std::uint64_t source_rows,
                                std::uint64_t memory_bytes, const std::string& scratch_folder,
                                const Events& events) {
  if (source_rows == 0 && request.rows.value_or(0) > 0 && request.mode != DrawMode::indices) {
    throw Error(Code::usage, "{} rows requested from a source without rows", *request.rows);
  }
  switch (request.mode) {
    case DrawMode::permute:
      return permuted(request, source_rows);
    case DrawMode::replace:
      return replaced(request, source_rows, memory_bytes, events);
    case DrawMode::weights:
      return weighted(request, source_rows, memory_bytes, scratch_folder, events);
    case DrawMode::indices:
      return listed(request, source_rows, memory_bytes, scratch_folder, events);
  }
  throw Error(Code::bug, "a draw of mode {}", static_cast<unsigned>(request.mode));
}

std::unique_ptr<Draw> part_of_draw(std::unique_ptr<const Draw> whole, std::uint64_t first,
                                   std::uint64_t rows) {
  return std::make_unique<PartOfDraw>(std::move(whole), first, rows);
}

std::unique_ptr<Draw> part_of_draw(const Draw& whole, std::uint64_t first, std::uint64_t rows) {
  const std::shared_ptr<const Draw> borrowed(std::shared_ptr<void>(), &whole);
  return std::make_unique<PartOfDraw>(borrowed, first, rows);
}

}  // namespace shale
