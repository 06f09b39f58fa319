#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/data/schema.hpp"
#include "shale/datasets/opened_dataset.hpp"
#include "shale/partners/file_pairs.hpp"

// What a dataset, or a file of another tool, may have been made of: the folder, or the list of
// files, that it is compared with is read in the same way.

namespace shale {

/// Whether the dataset, or the one that it is a copy of, was made from a list on stdin.
[[nodiscard]] bool is_of_list(const Manifest& manifest);
/// Whether the dataset, or the one that it is a copy of, was made from a flat folder. Errors: those
/// of reading its first key.
[[nodiscard]] bool is_of_flat_folder(const OpenedDataset& dataset);
/// Whoever wrote the file: what a folder of videos becomes.
[[nodiscard]] bool holds_frames_of_folder(const Manifest& manifest);
/// Whoever wrote the file: what a folder becomes, or several that are joined.
[[nodiscard]] bool holds_files_of_folder(const Manifest& manifest,
                                         const std::vector<NamedFolder>& folders);

/// The names that its fields have in the input. Each is looked up once: names may be exchanged.
[[nodiscard]] std::vector<std::string> names_in_input(const Manifest& manifest);
/// A field by its name in the input: whatever was renamed. Null: there is none.
[[nodiscard]] const Field* find_input_field(const Manifest& manifest, std::string_view of_input);
/// False: labels were left out, and are not missed.
[[nodiscard]] bool needs_labels(const Manifest& manifest);
/// Whether the files of a folder are samples by --ext, also where together they could be one array.
[[nodiscard]] bool are_files_samples(std::span<const std::string> inputs,
                                     std::string_view suffixes);
/// The suffixes of its samples; empty: images.
[[nodiscard]] std::string suffixes_of(const Manifest& manifest);

}  // namespace shale
