#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/datasets/file_pattern.hpp"

// Several files of another tool that are one dataset: the samples of one file after those of the
// other (docs/foreign.md). They are named by
// - a text file that lists them: in its order, a file named twice twice. "@files.txt" lists files
// of
//   any kind, one per line; without "@" it is one that readers of HDF5 take;
// - a folder that holds them: in natural order (part-2 before part-10);
// - a pattern, "train-*.tfrecord" or "{train,val}-{00..07}.h5": brace by brace, else naturally.

namespace shale {

/// The files that a path stands for, in their order; nullopt: it is none of
/// these. What lies beside the files in a folder (hidden files, text, what shale writes about a
/// file) does not count; a folder with anything else in it is none. Names of a list are looked for
/// in its folder and in the current directory. Errors: Code::not_found for a list that is called
/// for with "@", and for a listed name that is in neither, and for one that a pattern spells out;
/// Code::usage for one that is a different file in each; Code::unsupported for a folder of several
/// sets, and, with its name, for what is not a file of the set that the folder has an index of;
/// same as Format::list_files.
[[nodiscard]] std::optional<std::vector<SetMember>> files_of_set(const std::string& path);
/// Whether the files of a folder are those whose names have these hashes (xxh3_64), as far as names
/// tell: they are there, and what else there is does not count.
[[nodiscard]] bool are_files_of_folder(std::vector<std::uint64_t> name_hashes,
                                       const std::string& folder);
/// Whether it stands for any; of a folder with the index of a set nothing else is looked at.
[[nodiscard]] bool holds_set(const std::string& path);

/// The same for files of any kind, in a folder too, which has nothing else but them. Errors: same
/// as files_of_set; Code::unsupported for a folder that holds another one.
[[nodiscard]] std::optional<std::vector<SetMember>> files_of_any_kind(const std::string& path);

/// The files of one split.
struct SetOfSplit {
  std::string split;  ///< "train"
  std::vector<SetMember> files;
  std::string word = {};  ///< that stands for all of them: a pattern
};

/// The files of a folder that are a set per split, as their names say ("train-00000-of-00010",
/// "val.h5"), or as a repository of the hub has them (hub_folder.hpp): train first, the others by
/// their names. Empty: it is another folder, or there are fewer splits than `least`. Errors: same
/// as files_of_set.
[[nodiscard]] std::vector<SetOfSplit> files_of_splits(const std::string& folder,
                                                      std::size_t least = 2);

/// Several paths as one set, in the order of the words; nullopt: not all are files of other tools
/// that are read in place.
[[nodiscard]] std::optional<std::vector<SetMember>> files_of_words(
    const std::vector<std::string>& words);

/// What the user is told of words in the order of their characters, as a shell puts the names that
/// a pattern stands for, where that is not the order of the numbers in them; else empty.
[[nodiscard]] std::string note_on_words(const std::vector<std::string>& words);

/// What the user is told of files whose names count those of a set ("x-00002-of-00010"), where some
/// are missing; else empty.
[[nodiscard]] std::string note_on_missing_files(const std::vector<SetMember>& files);

}  // namespace shale
