#pragma once

#include <functional>
#include <string>

#include "shale/base/events.hpp"
#include "shale/format/format.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/targets/convert_request.hpp"
#include "shale/targets/file_output.hpp"

namespace shale {

/// Writes an input into the file `request.output`, of the format that its suffix names
/// (format_of_output) and of any size. The file comes to its name when it is whole and durable, and
/// verified if that was asked for: a kill leaves nothing but a hidden work folder beside it, which
/// the next run of the same output clears. With request.with_index its index is next to it then,
/// as index_file() would make it; an index of a file that is replaced goes. Samples that are
/// skipped are in the report alone. Memory: request.memory_bytes. Errors: Code::exists for an
/// existing output, without request.overwrite, for one that another process writes, and for files
/// of somebody else under the names of the index; Code::usage for an .npy file of several fields,
/// naming them, and for the index of a file that is_packed(); Code::unsupported for a field that
/// the format cannot hold; same as open_input and Conversion.
/// `left_out` gets the key of each sample that was skipped.
[[nodiscard]] ConvertReport convert_into_file(
    const ConvertRequest& request, const Events& events,
    const std::function<void(const std::string& key)>& left_out = {});

/// Errors: Code::usage, Code::schema, Code::unsupported, Code::limit for samples that one file of
/// the format cannot hold.
void refuse_unfit_file(const ConvertRequest& request, const Format& format,
                       const SourceInfo& source);

/// True if each field is written to a file of its own, and these are packed into one at the end: an
/// .npz archive, a file of several tensors.
[[nodiscard]] bool is_packed(const ConvertRequest& request, const Schema& schema);

/// What the request of a set of shards does not say of one file.
[[nodiscard]] ShardSetWriter::Options division_of_file(const ConvertRequest& request,
                                                       const TemporaryOutput& output,
                                                       const Schema& schema);

/// With the samples written: packs them, if is_packed(); writes the index, if it was
/// requested, verifies all of it, if so, and completes the report. Not published yet.
void finish_file(const ConvertRequest& request, const Events& events, TemporaryOutput& output,
                 ConvertReport& report);

}  // namespace shale
