#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/manifest/json_lines.hpp"

namespace shale {

/// The column that names the file of a row.
inline constexpr std::string_view kFileNameColumn = "file_name";

/// True for metadata.csv and metadata.jsonl, as Hugging Face's imagefolder names them.
[[nodiscard]] bool is_metadata_name(std::string_view name);

/// A row of such a file, and the values of its columns but file_name.
struct MetadataRow {
  std::uint64_t number = 0;  ///< of the row or the line, from 1
  std::string path;          ///< relative to the folder of the file, without "." and empty parts
  const std::vector<JsonMember>& cells;  ///< those of CSV are all strings
};

/// Calls `use` for each row; false, without a call, if the file has no column file_name. Memory:
/// one row. Errors: Code::bad_content, with the row, for an invalid file, a row of another length
/// than the header, a row without file_name, one that is absolute or leads out of the folder, and a
/// column without name or that comes twice; Code::io.
[[nodiscard]] bool read_metadata_file(const std::string& path,
                                      const std::function<void(const MetadataRow&)>& use);

}  // namespace shale
