#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/trees/hdf5_description.hpp"

namespace shale {

/// A dataset, and where its rows go in another file.
struct Hdf5Target {
  const Hdf5Dataset* dataset;
  std::uint64_t address, bytes;
};

/// Writes what is read into the other file (hdf5_unpack.cpp has what it looks like), and says how
/// much about once a MiB: the bytes since it did so last, and where the file ends.
class PlainWriter {
 public:
  using Wrote = std::function<void(std::uint64_t bytes, std::uint64_t end)>;
  /// Values of any length are appended at `end`.
  PlainWriter(const NamelessFile& file, std::uint64_t end, Wrote wrote)
      : file_(file), end_(end), wrote_(std::move(wrote)) {}

  void write(std::uint64_t offset, Bytes bytes);
  void say() { wrote_(std::exchange(unsaid_, 0), end_); }
  /// A value in a collection of its own. Returns the reference to it.
  [[nodiscard]] std::vector<std::byte> append_value(Bytes value, std::uint64_t item_bytes);

 private:
  const NamelessFile& file_;
  std::uint64_t end_;
  Wrote wrote_;
  std::uint64_t unsaid_ = 0;
};

/// What of a file that may be damaged cannot be read: rows of a target, and why.
struct Hdf5LostRows {
  std::uint64_t target = 0, first = 0, rows = 0;
  std::string why = {};
};

struct Hdf5ReadOut {
  const InputFile& from;
  std::span<const Hdf5Target> targets;
  std::uint64_t block_bytes, most_sequence_bytes;
  /// Not null: the file may be damaged, and what cannot be read is told, a run of rows each.
  std::function<void(const Hdf5LostRows&)> lose = nullptr;
};

/// Reads datasets through the library, filters and all, and writes their rows where they go:
/// numbers little-endian, those of other axes with the samples first. Only for a child process that
/// has nothing to lose (hdf5_probe.hpp). Memory: four times `block_bytes`, and of values of any
/// length one, and the references of 1,024 rows. Errors: Code::damaged with the library's innermost
/// message as cause, and for values that together have more than `most_sequence_bytes`;
/// Code::unsupported for a filter that this library does not have; Code::mismatch if the file has
/// changed since it was described; Code::limit; Code::io.
void read_out_hdf5(const Hdf5ReadOut& what, PlainWriter writer);

}  // namespace shale
