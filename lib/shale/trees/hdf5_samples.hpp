#pragma once

#include <functional>
#include <optional>

#include "shale/format/format.hpp"
#include "shale/trees/hdf5_description.hpp"
#include "shale/trees/hdf5_sample_values.hpp"

// A file with a group per sample becomes a file of shale's own, which has a
// column per field:
//   NAME of the group                     the key
//   PATH below it, attributes             a field; '/' and '.' become '_'
//   sides that differ                     are free; what some groups lack is optional
// With --parse episodes, a group is an episode, and each of its steps a sample:
//   NAME/STEP                             the key; also the integer fields `episode`, `step`
//   PATH, the datasets of as many rows    row t is of step t
//   PATH, single values                   are of all its steps

namespace shale {

/// Where the groups are that the file is to be read by: those that --parse asks for, or, where it
/// says nothing, those that nobody can mistake. Errors: Code::unsupported where there are none.
[[nodiscard]] std::optional<Hdf5SamplePlace> hdf5_samples_in(const Hdf5Description& description,
                                                             std::optional<Dialect> dialect);

/// Why `survey` does not read such a file, and what does.
[[nodiscard]] Error is_read_by_convert(const Hdf5SamplePlace& place, std::string_view path);

/// Writes samples, one after the other, to a file of shale's own.
struct Hdf5SampleSink {
  std::function<void(const Schema&)> begin;
  std::function<void(const Sample&)> append;
};

/// Hands the samples (or, with Dialect::episodes, the steps) of a file to the sink. Two walks, of
/// which the second reads values. Memory: a sample, at most half of the memory of the request.
/// Errors: Code::unsupported, by sample and path, where values differ in type or rank, or the
/// datasets of an episode in length; Code::limit; Code::io, before anything is written, if there is
/// not enough space; those of the walk and the sink.
[[nodiscard]] UnpackReport unpack_hdf5_samples(const UnpackRequest& request,
                                               const Hdf5SamplePlace& place,
                                               const WalkHdf5Samples& walk,
                                               const Hdf5SampleSink& sink);

}  // namespace shale
