#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// The key, then the fields, a part each; an integer or real as an element of its column; then what
/// is next to the fields (see Hdf5Column), and IndexRow::elements has the places of elements.
/// Row places count from where the value begins. Where rows are fixed the fields alone, and no row.
/// Payload is borrowed. Errors: naming the sample, Code::limit for a key longer than 64 KiB or a
/// list of more than kMaxElements elements, and Code::schema for a number that its dtype does not
/// hold.
[[nodiscard]] Record encode_hdf5(const Sample& sample, const Schema& schema,
                                 const OptionSet& options);

}  // namespace shale
