#include "shale/sources/sampled_elements.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "shale/flow/permutation.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostSampledBytes = 4 << 20;
constexpr std::uint64_t kSampledBySeed = 0;
constexpr std::uint64_t kInflatedAtOnce = 256 * 1024;

using Axes = std::vector<std::uint64_t>;

// In elements: how far apart two of them lie whose index differs by one in that axis.
Axes strides_of(const ArrayFile& array) {
  if (!array.strides.empty()) return array.strides;
  Axes strides(array.shape.size(), 1);
  if (array.fortran_order) {
    for (std::size_t axis = 1; axis < strides.size(); ++axis)
      strides[axis] = strides[axis - 1] * array.shape[axis - 1];
  } else {
    for (std::size_t axis = strides.size() - 1; axis > 0; --axis)
      strides[axis - 1] = strides[axis] * array.shape[axis];
  }
  return strides;
}

// Of the element with this number in C order: its index in every axis.
Axes index_of(std::uint64_t number, const Axes& shape) {
  Axes index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; number /= shape[axis])
    index[axis] = number % shape[axis];
  return index;
}

// The bytes of a deflated member, in its own order, from one offset to a later one.
class InflatedBytes {
 public:
  explicit InflatedBytes(const ArrayFile& array)
      : stream_(open_member(array)), left_(array.bytes()) {}

  void read(std::uint64_t offset, std::span<std::byte> into, const Events& events) {
    while (at_ + window_.size() < offset + into.size()) {
      events.stop_if_asked();
      // What of the last window belongs to an element that continues after it is kept.
      const std::uint64_t passed = std::min<std::uint64_t>(window_.size(), offset - at_);
      window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(passed));
      at_ += passed;
      const std::uint64_t kept = window_.size(), more = std::min(kInflatedAtOnce, left_);
      window_.resize(kept + more);
      stream_->read_rows(std::span(window_).subspan(kept));
      left_ -= more;
    }
    std::ranges::copy(std::span(window_).subspan(offset - at_, into.size()), into.begin());
  }

 private:
  std::unique_ptr<RowStream> stream_;
  std::vector<std::byte> window_;
  std::uint64_t at_ = 0, left_;  // where the window begins; what lies behind it
};

bool is_deflated(const ArrayFile& array) { return array.archived && array.archived->is_deflated; }

void read_elements(std::vector<SampledElement>& elements, const std::vector<std::uint64_t>& places,
                   const ArrayFile& array, const Events& events) {
  std::vector<std::size_t> in_file(elements.size());
  std::iota(in_file.begin(), in_file.end(), 0);
  std::ranges::sort(in_file, {}, [&](std::size_t i) { return places[i]; });
  const std::uint64_t item_bytes = array.dtype.item_bytes();
  std::unique_ptr<InflatedBytes> inflated;
  if (is_deflated(array)) inflated = std::make_unique<InflatedBytes>(array);
  for (const std::size_t i : in_file) {
    events.stop_if_asked();
    std::vector<std::byte>& bytes = elements[i].bytes;
    bytes.resize(item_bytes);
    if (inflated) {
      inflated->read(places[i] * item_bytes, bytes, events);
    } else {
      array.file->read_exact(array.data_offset + places[i] * item_bytes, bytes);
    }
    swap_bytes(bytes, item_bytes, array.swaps);
  }
}

}  // namespace

std::vector<SampledElement> sample_elements(const ArrayFile& array, std::uint64_t first_row,
                                            std::uint64_t most, const Events& events) {
  const std::uint64_t all_bytes = array.bytes();
  if (all_bytes == 0 || (is_deflated(array) && !array.fortran_order)) return {};
  const std::uint64_t count = all_bytes / array.dtype.item_bytes();
  const std::uint64_t in_row = count / array.shape.front();
  const std::uint64_t taken = std::min(
      {count, most, std::max<std::uint64_t>(1, kMostSampledBytes / array.dtype.item_bytes())});
  std::vector<std::uint64_t> numbers(taken);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (taken < count) Permutation(count, kSampledBySeed).at_each(numbers);
  std::ranges::sort(numbers);

  const Axes strides = strides_of(array);
  std::vector<SampledElement> elements;
  std::vector<std::uint64_t> places;
  for (const std::uint64_t number : numbers) {
    const Axes index = index_of(number, array.shape);
    places.push_back(
        std::inner_product(index.begin(), index.end(), strides.begin(), std::uint64_t{0}));
    elements.push_back({.row = first_row + index.front(),
                        .index = {index.begin() + 1, index.end()},
                        .item = number % in_row,
                        .bytes = {}});
  }
  read_elements(elements, places, array, events);
  return elements;
}

}  // namespace shale
