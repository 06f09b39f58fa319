#pragma once

#include <cstdint>

namespace shale {

/// What is read out of one file, by all its columns together, against its size: a run of indices
/// into a dictionary of one value is without end in a few bytes.
class ParquetExpansion {
 public:
  /// `most_held`: as exchange() has it.
  explicit ParquetExpansion(std::uint64_t file_bytes, std::uint64_t most_held = kMostHeld)
      : file_bytes_(file_bytes), most_held_(most_held) {}

  /// The most bytes of values: what anybody has room for, and more of a larger file.
  [[nodiscard]] std::uint64_t most_bytes() const {
    return (std::uint64_t{1} << 30) + (file_bytes_ << 12);
  }
  /// A value of so many bytes is given out. Errors: Code::limit, without place.
  void give(std::uint64_t bytes);

  /// The most bytes of pages and dictionaries that all columns have in memory, if nobody says it.
  static constexpr std::uint64_t kMostHeld = std::uint64_t{4} << 30;
  /// One of so many bytes takes the place of one of `held`, which is said to be of as many
  /// afterwards. Errors: Code::limit, without place; then it is of none.
  void exchange(std::uint64_t& held, std::uint64_t bytes);
  /// What exchange() would have needed when it refused; 0: it did not.
  [[nodiscard]] std::uint64_t wanted() const { return wanted_; }

 private:
  std::uint64_t file_bytes_, most_held_, given_ = 0, held_ = 0, wanted_ = 0;
};

}  // namespace shale
