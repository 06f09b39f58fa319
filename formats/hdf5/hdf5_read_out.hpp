#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "shale/base/bytes.hpp"
#include "shale/io/nameless_file.hpp"

#include "formats/hdf5/hdf5_description.hpp"

namespace shale {

/// A dataset, and where its rows go in another file.
struct Hdf5Target {
  const Hdf5Dataset* dataset;
  std::uint64_t address, bytes;
};

/// Where values are written.
struct Hdf5PlainFile {
  const NamelessFile& file;
  std::uint64_t end;  ///< values of any length are appended here
};

/// Reads datasets through the library, filters and all, and writes their rows where they go:
/// numbers little-endian, references to sequences and strings of any length as hdf5_unpack.cpp
/// draws them. `wrote` is called about once a MiB, with the bytes since and the end of the file.
/// Only for a child process that has nothing to lose (hdf5_probe.hpp). Memory: four times
/// `block_bytes`, and of values of any length those of 16 rows.
/// Errors: Code::damaged with the library's innermost message as cause, and for values that
/// together have more than `most_sequence_bytes`; Code::unsupported for a filter that this library
/// does not have; Code::mismatch if the file has changed since it was described; Code::limit;
/// Code::io.
void read_out_hdf5(const std::string& path, std::span<const Hdf5Target> targets,
                   std::uint64_t block_bytes, std::uint64_t most_sequence_bytes, Hdf5PlainFile into,
                   const std::function<void(std::uint64_t bytes, std::uint64_t end)>& wrote);

}  // namespace shale
