#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// A file of a set.
struct SetMember {
  std::string name;  ///< as the list has it, or within the folder
  std::string path;
};

/// The files that a pattern stands for, "train-*.tfrecord" or "{train,val}-{00..07}.h5": brace by
/// brace, else in natural order. nullopt: it is a name, or nothing is there. Errors:
/// Code::not_found for one that it spells out; Code::limit for more than 10,000,000 names.
[[nodiscard]] std::optional<std::vector<SetMember>> files_of_pattern(const std::string& pattern);

/// One word that stands for several paths in this order: a pattern that names each. Errors:
/// Code::usage for a name that no pattern can have.
[[nodiscard]] std::string word_of_files(const std::vector<std::string>& paths);

/// What shale or liblmdb writes beside a file, by its name.
[[nodiscard]] bool is_about_a_file(std::string_view name);

}  // namespace shale
