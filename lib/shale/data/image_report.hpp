#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace shale {

/// A count of each name: "jpeg" -> 1200.
using NamedCounts = std::map<std::string, std::uint64_t>;

/// Adds the counts of the same name.
void add_counts(NamedCounts& to, const NamedCounts& more);

/// Of the images of a dataset, by their pixels as stored, before any EXIF rotation. Images whose
/// size is unknown count nowhere.
struct ImageSizes {
  /// Lower bounds in pixels -> images with that many or more, up to the next bound: powers of two,
  /// and half as much again. Of the shorter and of the longer side.
  std::map<std::uint64_t, std::uint64_t> shorter, longer;
  /// Width and height of kAspects -> images that are nearest to it.
  std::map<std::array<std::uint64_t, 2>, std::uint64_t> aspects;

  [[nodiscard]] bool is_empty() const { return shorter.empty(); }
  void count(std::uint64_t width, std::uint64_t height);
  void add(const ImageSizes& more);
  friend bool operator==(const ImageSizes&, const ImageSizes&) = default;
};

/// The bound of ImageSizes below `pixels`, which are not 0.
[[nodiscard]] std::uint64_t size_bound(std::uint64_t pixels);
/// The bound after it.
[[nodiscard]] std::uint64_t next_size_bound(std::uint64_t bound);

/// The aspect ratios that images are counted under, from tall to wide.
inline constexpr std::array<std::uint64_t, 2> kAspects[] = {
    {1, 4}, {1, 3}, {1, 2},  {9, 16}, {2, 3}, {3, 4}, {1, 1},
    {4, 3}, {3, 2}, {16, 9}, {2, 1},  {3, 1}, {4, 1}};
/// The nearest of them, in proportion. Neither side is 0.
[[nodiscard]] std::array<std::uint64_t, 2> nearest_aspect(std::uint64_t width,
                                                          std::uint64_t height);

/// Images that a dataset holds more than once.
struct DuplicateCounts {
  std::uint64_t samples = 0;     ///< whose image an earlier sample has, byte for byte
  std::uint64_t relabelled = 0;  ///< of them: with another label than the first such sample
  void add(const DuplicateCounts& more);
  friend bool operator==(const DuplicateCounts&, const DuplicateCounts&) = default;
};

/// What a dataset says of its images; only where the source holds any.
struct ImageReport {
  NamedCounts types;         ///< "jpeg" -> count
  NamedCounts odd;           ///< "cmyk" -> count; the list is in images.csv
  NamedCounts changed = {};  ///< what image work did: "resized" -> count. Empty: there was none
  ImageSizes sizes = {};
  /// Of the whole dataset: not a sum of those of its parts. Nullopt: not looked for.
  std::optional<DuplicateCounts> duplicates = {};

  /// Adds the counts of more images, except duplicates, which have to be searched for again.
  void add(const ImageReport& more);
};

}  // namespace shale
