#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/schema.hpp"
#include "shale/folders/folder_request.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/labels/class_table.hpp"

// What a folder does with the rows of its metadata, and says of them.

namespace shale {

/// What the labels of the rows belong to; nullopt for numbers without a class table. Of one of
/// several splits the table is that of the names in `train`, of which `classes_of` gives the
/// classes. Errors: Code::bad_content for splits without `train`; same as load_class_table; same as
/// open_folder.
[[nodiscard]] std::optional<ClassTable> table_of_metadata(
    const FolderRequest& request, const MetadataRows& metadata,
    const std::function<std::vector<std::string>(const FolderRequest&)>& classes_of);

/// True if the rows are left out because --labels names their very file: `notes` then say so.
/// Errors: Code::usage, naming both, for another file of labels.
[[nodiscard]] bool is_left_to_labels(const FolderRequest& request, const MetadataRows& metadata,
                                     std::vector<std::string>& notes);

/// How the rows of a folder are read.
[[nodiscard]] MetadataRows::Request metadata_request(const FolderRequest& request,
                                                     const std::string& sample_field);

/// The error for a column that becomes a field which already exists.
[[nodiscard]] Error is_field_already(const Field& column, const std::string& root);

/// What tells fields from others: empty for none.
[[nodiscard]] std::string text_of_fields(const std::vector<Field>& fields);

inline constexpr std::string_view kMetadataInArchive =
    "metadata.csv and metadata.jsonl in an archive are not read: unpack it to take their columns";

/// What the user is told who did not ask for them; `one` is the word for a sample's file.
[[nodiscard]] std::string note_on_metadata(const MetadataRows& metadata, std::string_view one);

}  // namespace shale
