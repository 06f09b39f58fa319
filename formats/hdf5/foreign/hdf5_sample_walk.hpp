#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shale/io/input_file.hpp"
#include "shale/trees/hdf5_description.hpp"
#include "shale/trees/hdf5_sample_values.hpp"

namespace shale {

/// Where samples are, by the first of the groups. `file` is an identifier of the library. Only for
/// a child process that has nothing to lose. `takes_damaged`: objects that cannot be read are
/// passed over.
[[nodiscard]] std::optional<Hdf5SamplePlace> find_hdf5_samples(std::int64_t file,
                                                               bool takes_damaged = false);

/// Hands out the samples of a file, from the HDF5 library in a child process. Memory: a sample, and
/// `memory_bytes` in the child. Errors: as run_hdf5_child; Code::damaged with the library's
/// innermost message as cause; Code::limit for a value that is too large, or a sample of more than
/// 1024 objects; Code::unsupported for a filter that the library does not have; those of `take`.
void walk_hdf5_samples(const InputFile& file, std::uint64_t memory_bytes,
                       const Hdf5SampleWalk& walk, const Hdf5SampleReceiver::Take& take,
                       const Hdf5SampleReceiver::Other& other, const std::function<void()>& ask);

}  // namespace shale
