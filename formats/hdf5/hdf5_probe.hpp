#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shale/base/bytes.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/limited_child.hpp"
#include "shale/io/nameless_file.hpp"

#include "formats/hdf5/hdf5_description.hpp"

// HDF5 files are seen by the HDF5 library in a child process only (shale/io/limited_child.hpp). It
// is forked while no other thread is inside the HDF5 library, which is not proof against hostile
// files.

namespace shale {

/// Runs `work` in a child process, as LimitedChild and its listen() do. `into`, if there is one, is
/// what it writes.
void run_hdf5_child(const InputFile& file, const ChildLimits& limits,
                    const std::function<void(const SendMessage&)>& work,
                    const std::function<void(Bytes)>& take, const std::function<void()>& ask = {},
                    const NamelessFile* into = nullptr);

/// What an HDF5 file holds at its root, and where it is. Every place is inside the file. Reads no
/// sample.
/// Errors: as run_hdf5_child; Code::damaged with the library's innermost message as cause;
/// Code::unsupported for a version that this library does not know, and for a root of more objects
/// than a set of columns has.
[[nodiscard]] Hdf5Description probe_hdf5_file(const InputFile& file,
                                              const WalkProgress& progress = {});

/// What a type (an identifier of the library) is to NumPy, byte order included: "<i8", "|b1",
/// "<c8"; nothing for any other. Under lock_hdf5() only.
[[nodiscard]] std::optional<std::string> hdf5_descr_of(std::int64_t type);

}  // namespace shale
