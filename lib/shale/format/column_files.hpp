#pragma once

#include <string_view>

#include "shale/base/error.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"

namespace shale {

/// One file per field, "shard-000000.<field><suffix>", fixed rows, no keys. `kind` goes into the
/// errors: "an npy". Errors: Code::unsupported, by field, for a name that is too long for a file's
/// and for a tensor of more than 63 axes; for samples without fields.
[[nodiscard]] ShardLayout column_files_layout(const Schema& schema, std::string_view kind,
                                              std::string_view suffix);

/// The error for an index of samples that belongs to a file of rows; `kind` is "an npy file".
[[nodiscard]] Error index_has_no_fixed_rows(std::string_view kind);

}  // namespace shale
