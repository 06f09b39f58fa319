#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"
#include "shale/trees/hdf5_description.hpp"

#include "formats/hdf5/hdf5_tracking_driver.hpp"

namespace shale {

/// Whether the header of an object holds as many messages as it says: zeros in it are messages that
/// say nothing, so that what they were is not missed. True for headers with a checksum. `object` is
/// the library's hid_t; addresses count from `base_address`.
[[nodiscard]] bool has_whole_hdf5_header(const InputFile& file, std::uint64_t base_address,
                                         std::int64_t object);

/// What is wrong where the chunks of some rows are not whole.
inline constexpr std::string_view kNotInIndex =
    "a chunk of it is not where the index of chunks says";
[[nodiscard]] Error hdf5_chunk_not_in_index(std::string_view dataset);

/// Throws Code::damaged where the filters, or the sides of the chunks, are not those that the first
/// chunks were stored with.
void check_hdf5_chunk_layout(Hdf5TrackedFile& file, std::int64_t set, const Hdf5Dataset& dataset);

/// The same, and throws Code::damaged unless each chunk that a dataset's index counts is found
/// whole where it should be: the library takes one that it does not find for one that was never
/// written, and gives zeros. `set` is the library's hid_t.
void check_hdf5_chunk_index(Hdf5TrackedFile& file, std::int64_t set, const Hdf5Dataset& dataset);

/// What of a dataset is not where its index says, in a file that may be damaged: the index of
/// chunks that h5py writes has no checksums, and the library takes a chunk that it does not find
/// for one that was never written. Chunks with filters are proved when they are read. Only for a
/// child process that has nothing to lose (hdf5_probe.hpp); `set` is the library's hid_t.
class Hdf5WholeChunks {
 public:
  Hdf5WholeChunks(Hdf5TrackedFile& file, std::int64_t set, const Hdf5Dataset& dataset);

  /// Why no row is to be trusted; empty: some may be.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  /// Whether all chunks that these rows (along Hdf5Dataset::axis) lie in are where they should be.
  [[nodiscard]] bool has_rows(std::uint64_t first, std::uint64_t rows) const;

 private:
  void look_at_chunks(Hdf5TrackedFile& file, std::int64_t set);
  void distrust_disorder(std::int64_t set, std::uint64_t count);

  const Hdf5Dataset& dataset_;
  std::string fault_;
  std::set<std::uint64_t> lost_;  // numbers of chunks along the axis
};

}  // namespace shale
