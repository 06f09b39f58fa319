#include "shale/data/image_report.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace shale {

void add_counts(NamedCounts& to, const NamedCounts& more) {
  for (const auto& [name, count] : more) to[name] += count;
}

std::uint64_t size_bound(std::uint64_t pixels) {
  const std::uint64_t power = std::bit_floor(pixels);
  const std::uint64_t between = power + power / 2;
  return power > 1 && pixels >= between ? between : power;
}

std::uint64_t next_size_bound(std::uint64_t bound) {
  const std::uint64_t power = std::bit_floor(bound);
  return bound > power || power == 1 ? power * 2 : power + power / 2;
}

std::array<std::uint64_t, 2> nearest_aspect(std::uint64_t width, std::uint64_t height) {
  // Nearer to the next one if width / height is above the geometric mean of the two: squared, and
  // without a division. 64 bits of a side and 4 of a ratio would not fit; headers hold 32.
  using Wide = unsigned __int128;
  const auto w = static_cast<Wide>(std::min<std::uint64_t>(width, ~std::uint32_t{0}));
  const auto h = static_cast<Wide>(std::min<std::uint64_t>(height, ~std::uint32_t{0}));
  std::size_t at = 0;
  for (; at + 1 < std::size(kAspects); ++at) {
    const auto& one = kAspects[at];
    const auto& next = kAspects[at + 1];
    if (w * w * one[1] * next[1] < h * h * one[0] * next[0]) break;
  }
  return kAspects[at];
}

void ImageSizes::count(std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0) return;
  ++shorter[size_bound(std::min(width, height))];
  ++longer[size_bound(std::max(width, height))];
  ++aspects[nearest_aspect(width, height)];
}

void ImageSizes::add(const ImageSizes& more) {
  for (const auto& [bound, count] : more.shorter) shorter[bound] += count;
  for (const auto& [bound, count] : more.longer) longer[bound] += count;
  for (const auto& [aspect, count] : more.aspects) aspects[aspect] += count;
}

void DuplicateCounts::add(const DuplicateCounts& more) {
  samples += more.samples;
  relabelled += more.relabelled;
}

void ImageReport::add(const ImageReport& more) {
  add_counts(types, more.types);
  add_counts(odd, more.odd);
  add_counts(changed, more.changed);
  sizes.add(more.sizes);
}

}  // namespace shale
