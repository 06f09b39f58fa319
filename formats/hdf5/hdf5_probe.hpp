#pragma once

#include <functional>

#include "shale/base/bytes.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/limited_child.hpp"
#include "shale/io/nameless_file.hpp"

#include "formats/hdf5/hdf5_description.hpp"

// HDF5 files are seen by the HDF5 library in a child process only (shale/io/limited_child.hpp). It
// is forked while no other thread is inside the HDF5 library.

namespace shale {

/// Runs `work` in a child process, as LimitedChild and its listen() do. `into`, if there is one, is
/// what it writes.
void run_hdf5_child(const InputFile& file, const ChildLimits& limits,
                    const std::function<void(const SendMessage&)>& work,
                    const std::function<void(Bytes)>& take, const std::function<void()>& ask = {},
                    const NamelessFile* into = nullptr);

/// What an HDF5 file holds at its root, and where it is. Every place is inside the file.
/// Errors: as run_hdf5_child and describe_hdf5_file.
[[nodiscard]] Hdf5Description probe_hdf5_file(const InputFile& file,
                                              const WalkProgress& progress = {});

}  // namespace shale
