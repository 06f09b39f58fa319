#include "shale/numbers/bins.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace shale {
namespace {

// 2^(i/8): written out, since a library's pow() may round in its own way.
constexpr std::array<double, 9> kEighths = {1.0,
                                            1.0905077326652577,
                                            1.1892071150027210,
                                            1.2968395546510096,
                                            1.4142135623730951,
                                            1.5422108254079407,
                                            1.6817928305074292,
                                            1.8340080864093424,
                                            2.0};

double bound_of(std::size_t bin) {
  return std::ldexp(kEighths[bin % 8], static_cast<int>(bin / 8));
}

// From here on not every integer is a double.
constexpr double kNotAllWhole = 9007199254740992;  // 2^53

std::vector<double> edges_between(double low, double high, std::size_t bars) {
  std::vector<double> edges;
  edges.reserve(bars + 1);
  const double step = (high - low) / static_cast<double>(bars);
  for (std::size_t i = 0; i < bars; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(bars);
    // The width of it all may be more than a double holds.
    edges.push_back(std::isfinite(step) ? low + static_cast<double>(i) * step
                                        : low * (1 - share) + high * share);
  }
  edges.push_back(high);
  return edges;
}

}  // namespace

void RatioBins::count(std::uint64_t value, std::uint64_t times) {
  total_ += times;
  if (value == 0) {
    zeros_ += times;
    return;
  }
  const auto octave = static_cast<std::size_t>(std::bit_width(value) - 1);
  const double part = std::ldexp(static_cast<double>(value), -static_cast<int>(octave));
  std::size_t eighth = 0;
  while (eighth + 1 < kPerOctave && part >= kEighths[eighth + 1]) ++eighth;
  counts_[octave * kPerOctave + eighth] += times;
}

void RatioBins::add(const RatioBins& more) {
  zeros_ += more.zeros_;
  total_ += more.total_;
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += more.counts_[i];
}

std::vector<HistogramBar> RatioBins::bars() const {
  std::vector<HistogramBar> bars;
  if (zeros_ > 0) bars.push_back({0, 1, zeros_});
  std::size_t first = 0, end = counts_.size();
  while (first < end && counts_[first] == 0) ++first;
  while (end > first && counts_[end - 1] == 0) --end;
  if (first == end) return bars;
  std::size_t step = 1;
  while ((end - 1) / step - first / step + 1 > kMostBars) step *= 2;
  if (zeros_ > 0 && first / step * step > 0) bars.front().high = bound_of(first / step * step);
  for (std::size_t bin = first / step * step; bin < end; bin += step) {
    HistogramBar& bar = bars.emplace_back(HistogramBar{bound_of(bin), bound_of(bin + step), 0});
    for (std::size_t i = bin; i < std::min(bin + step, counts_.size()); ++i)
      bar.count += counts_[i];
  }
  return bars;
}

WidthBins::WidthBins(double low, double high, bool are_whole) {
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) return;
  std::size_t bars = kBars;
  double last = high;
  if (low == high) {
    bars = 1;
  } else if (are_whole && high - low < kBars && std::max(-low, high) < kNotAllWhole) {
    bars = static_cast<std::size_t>(high - low) + 1;
    last = high + 1;
  }
  edges_ = edges_between(low, last, bars);
  // So near to each other that there are not so many doubles between them.
  while (bars > 1 && std::ranges::adjacent_find(edges_, std::greater_equal<>{}) != edges_.end()) {
    bars /= 2;
    edges_ = edges_between(low, last, bars);
  }
  counts_.resize(bars);
}

WidthBins WidthBins::emptied() const {
  WidthBins bins = *this;
  bins.counts_.assign(counts_.size(), 0);
  return bins;
}

void WidthBins::count(double value, std::uint64_t times) {
  if (edges_.empty() || !(value >= edges_.front()) || !(value <= edges_.back())) return;
  const std::size_t bars = counts_.size();
  std::size_t bar = 0;
  if (edges_.back() > edges_.front()) {
    const double width = edges_.back() - edges_.front();
    const double part = std::isfinite(width) ? (value - edges_.front()) / width
                                             : (value / 2 - edges_.front() / 2) /
                                                   (edges_.back() / 2 - edges_.front() / 2);
    bar = std::min(bars - 1, static_cast<std::size_t>(part * static_cast<double>(bars)));
  }
  // As NumPy: what rounding put beside its edge is put right by the edge itself.
  if (value < edges_[bar]) --bar;
  if (bar + 1 < bars && value >= edges_[bar + 1]) ++bar;
  counts_[bar] += times;
}

void WidthBins::add(const WidthBins& more) {
  if (is_empty())
    *this = WidthBins(more);
  else if (!more.is_empty())
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += more.counts_[i];
}

std::vector<HistogramBar> WidthBins::bars() const {
  std::vector<HistogramBar> bars;
  bars.reserve(counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i)
    bars.push_back({edges_[i], edges_[i + 1], counts_[i]});
  return bars;
}

}  // namespace shale
