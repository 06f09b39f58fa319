#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shale/trees/hdf5_description.hpp"

// Datasets of object references, as MATLAB 7.3 lays out its cells and arrays of structs:
//   names  (1, N) references          cell of strings: each to a dataset of UTF-16 units
//   boxes  (1, N) references          cell of arrays: each to a dataset of numbers
//   bbox   (N, 1) references          array of structs: each to a group, whose datasets are the
//                                     members; a member may be references to single numbers again
// An attribute MATLAB_class says what a dataset is, MATLAB_empty that it holds only its own shape.
// Only for a child process that has nothing to lose (hdf5_probe.hpp); `set` is the library's hid_t.

namespace shale {

/// How many times the bytes of the file all values of such a column may have: they may be
/// compressed, and several references may lead to one.
inline constexpr std::uint64_t kMostReferredGrowth = 64;

/// The columns that a dataset of object references stands for: text or sequences of numbers, one
/// row per reference; for groups one per member. Only the first references are followed. If they
/// are of no kind, or differ, one column that no field can hold.
[[nodiscard]] std::vector<Hdf5Dataset> describe_hdf5_references(std::int64_t set,
                                                                const Hdf5Dataset& whole,
                                                                std::uint8_t address_bytes);

/// All values of such a column, in the order of the references, as they are written: UTF-8, or
/// numbers little-endian. Errors: Code::unsupported for a value that is not what the first are;
/// Code::damaged.
class Hdf5ReferredValues {
 public:
  Hdf5ReferredValues(std::int64_t set, const Hdf5Dataset& column);

  [[nodiscard]] std::uint64_t count() const { return references_.size(); }
  [[nodiscard]] std::vector<std::byte> at(std::uint64_t row) const;

 private:
  std::int64_t set_;
  const Hdf5Dataset& column_;
  std::vector<std::uint64_t> references_;
};

}  // namespace shale
