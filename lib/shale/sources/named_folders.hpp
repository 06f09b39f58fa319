#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/partners/file_pairs.hpp"

namespace shale {

/// The folders that the words of a command name, as in "image=photos", "mask=masks"; a path that
/// exists is a path, whatever it looks like. Empty: no word names a folder, or they are a join of
/// other inputs, too (joined_words). Errors: Code::usage for
/// one alone, for other words among them, for a name that comes twice or that a field cannot have;
/// Code::unsupported for an archive and for a dataset; Code::not_found.
[[nodiscard]] std::vector<NamedFolder> find_named_folders(const std::vector<std::string>& words);

/// The words that name them, of `folder` in each of them; empty: of the folders themselves.
[[nodiscard]] std::vector<std::string> words_of(const std::vector<NamedFolder>& folders,
                                                const std::string& folder);

/// The same folders; what `names` (kFoldersOption) says of them: whether samples may lack files of
/// all but the first, and the types. Empty: it says nothing.
[[nodiscard]] std::vector<NamedFolder> as_recorded(std::vector<NamedFolder> folders,
                                                   std::string_view names);

/// The error for another source of a dataset that was made from folders of these names, as the
/// option has them; `option`: what names a source, for the hint.
[[nodiscard]] Error not_the_folders(const std::string& dataset, std::string_view names,
                                    std::string_view option);

}  // namespace shale
