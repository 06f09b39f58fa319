#pragma once

#include <optional>

#include "shale/format/format.hpp"

#include "formats/hdf5/foreign/hdf5_sample_walk.hpp"

// A file with a group per sample becomes a file of shale's own (hdf5_writer.hpp), which has a
// column per field:
//   NAME of the group                     the key
//   PATH below it, attributes             a field; '/' and '.' become '_'
//   sides that differ                     are free; what some groups lack is optional
// With --parse episodes, a group is an episode, and each of its steps a sample:
//   NAME/STEP                             the key; also the integer fields `episode`, `step`
//   PATH, the datasets of as many rows    row t is of step t
//   PATH, single values                   are of all its steps

namespace shale {

/// The field that says which group a step is of, and the one that says which step it is.
inline constexpr std::string_view kEpisodeField = "episode", kStepOfEpisodeField = "step";

/// Where the groups are that the file is to be read by: those that --parse asks for, or, where it
/// says nothing, those that nobody can mistake. Errors: Code::unsupported where there are none.
[[nodiscard]] std::optional<Hdf5SamplePlace> hdf5_samples_in(const Hdf5Description& description,
                                                             std::optional<Dialect> dialect);

/// Why `survey` does not read such a file, and what does.
[[nodiscard]] Error is_read_by_convert(const Hdf5SamplePlace& place, std::string_view path);

/// Writes the samples (or, with Dialect::episodes, the steps) of a file to UnpackRequest::into, as
/// a file of shale's own. Two passes, both by the HDF5 library in a child process. Memory: a
/// sample, at most half of the memory of the request, and as ColumnSpill. Errors:
/// Code::unsupported, by sample and path, where values differ in type or rank, or the datasets of
/// an episode in length; Code::limit; Code::io, before anything is written, if there is not enough
/// space; as run_hdf5_child.
[[nodiscard]] UnpackReport unpack_hdf5_samples(const UnpackRequest& request,
                                               const Hdf5SamplePlace& place);

}  // namespace shale
