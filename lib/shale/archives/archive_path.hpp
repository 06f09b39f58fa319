#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/archives/stream_path.hpp"

namespace shale {

/// A folder in archives, by the path that a user gives: "x.tar", "x.zip/train", "x-{00..07}.tar".
struct ArchivePath {
  std::vector<std::string> archives;  ///< the files: one, or several that are one input
  std::string folder;                 ///< in them; empty: the root
};

/// Nullopt for a path that does not lead to or into a tar or zip archive, as far as its beginning
/// tells; a zip archive of arrays is none. Several are named by a list of their names
/// ("@tars.txt"), a pattern, or a folder that holds nothing else but text and hidden files: then
/// their names say that they are archives. Of archives of samples only a folder in one leads to
/// files, unless they are asked for. Errors: Code::io; those of files_of_set for lists and
/// patterns.
[[nodiscard]] std::optional<ArchivePath> archive_of_path(const std::string& path,
                                                         TarsAs tars = TarsAs::found);

/// What messages call them: the path that was given, or, where a pattern was made of several
/// words, the first of them.
[[nodiscard]] std::string shown_archives(const ArchivePath& path, const std::string& given);

/// Several archives as one word, a pattern that names each; other words as they are. Errors: same
/// as word_of_files.
[[nodiscard]] std::vector<std::string> with_archives_joined(std::vector<std::string> words);

}  // namespace shale
