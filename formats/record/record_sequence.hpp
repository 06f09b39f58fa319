#pragma once

#include <functional>

#include "shale/format/format.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/output_file.hpp"

namespace shale {

/// True if the first record of a file that says what it is holds feature lists. `lost` of the file
/// is passed over. Errors: Code::io.
[[nodiscard]] bool has_feature_lists(const InputFile& file, const LostRanges& lost);

/// Writes each tf.train.SequenceExample as a tf.train.Example into `into`: the features of its
/// context, and a feature for each of its lists, with the values of all steps. Where steps have
/// other than one value each, `NAME/lengths` has how many. Memory: a record, at most a quarter of
/// the memory. False, and `into` is garbage: a record is of another kind. Errors: Code::unsupported
/// for a feature and a list of one name, or a list of several types; Code::limit; Code::damaged;
/// Code::io.
[[nodiscard]] bool flatten_sequences(const UnpackRequest& request, const InputFile& file,
                                     const NamelessFile& into);

/// Reads record after record into memory, until `use` returns false. Memory: a record, at most a
/// quarter of the memory. Errors: Code::limit; Code::damaged for any damage; Code::io.
void for_each_record(const UnpackRequest& request, const InputFile& file,
                     const std::function<bool(Bytes)>& use);

/// Appends a frame around this payload.
void append_frame(OutputFile& out, const Blob& payload);

}  // namespace shale
