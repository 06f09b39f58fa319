#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// One file per field, "shard-000000.<field><suffix>", fixed rows, no keys. `kind` goes into the
/// errors: "an npy". Errors: Code::unsupported, by field, for a name that is too long for a file's
/// and for a tensor of more than 63 axes; for samples without fields.
[[nodiscard]] ShardLayout column_files_layout(const Schema& schema, std::string_view kind,
                                              std::string_view suffix);

/// The header of a file of so many rows; its size is the same for any number.
using ColumnHeader = std::vector<std::byte> (*)(const Field&, std::uint64_t rows);

/// Writes files that consist of a header and the rows of a field. The header is written again when
/// the number of rows is known. `files` and `schema` must outlive it.
[[nodiscard]] std::unique_ptr<ShardWriter> create_column_files(std::span<OutputFile> files,
                                                               const Schema& schema,
                                                               ColumnHeader header);

/// The error if such a writer gets rows after it was closed.
[[nodiscard]] Error rows_after_close(const std::string& path);

/// The error for an index of samples that belongs to a file of rows; `kind` is "an npy file".
[[nodiscard]] Error index_has_no_fixed_rows(std::string_view kind);

}  // namespace shale
