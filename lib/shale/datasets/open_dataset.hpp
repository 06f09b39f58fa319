#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/datasets/opened_dataset.hpp"

namespace shale {

/// Errors: Code::not_found; Code::mismatch for an unfinished dataset, or a file that has changed
/// since it was indexed; Code::unsupported for anything that is not a dataset; same as
/// read_manifest and index_file; Code::damaged for a file that the checksums of its container prove
/// so.
[[nodiscard]] OpenedDataset open_dataset(const DatasetRequest& request, const Events& events);

/// An option that is for files of other tools, where the input is none but `kind`.
[[nodiscard]] Error for_files_only(std::string_view option, const std::string& path,
                                   std::string_view kind);
/// Refuses --index-dir and --parse for an input that is not a file of another tool, but `kind`.
/// Errors: Code::usage.
void refuse_file_options(const std::string& path, std::string_view kind,
                         const std::string& index_folder, const Parsing& parsing);
inline constexpr std::string_view kOwnDataset = "a shale dataset";

/// The row that a key stands for where keys are the numbers of rows, 0 to rows - 1; nullopt for
/// anything else, also for the number in another spelling.
[[nodiscard]] std::optional<std::uint64_t> row_of_number(std::string_view key, std::uint64_t rows);

}  // namespace shale
