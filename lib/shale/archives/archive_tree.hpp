#pragma once

#include <memory>
#include <optional>
#include <string>

#include "shale/archives/archive_path.hpp"
#include "shale/folders/file_tree.hpp"
#include "shale/folders/folder_source.hpp"

namespace shale {

/// A folder in archives, as unpacking makes it: of members with one path the last counts, links
/// lead to other members. Several archives are unpacked into one folder, where no two may have a
/// file of one path; but if all are named after splits, or hold nothing but samples beside each
/// other, whose labels nothing else says, each is a folder with its name. Archives in that folder
/// ("x.tar") are folders ("x"). Its headers are read when the tree is first walked, its files are
/// read in place. Errors: same as ArchiveFile. A root "x.tar/a" is "a.tar" in the archive, if there
/// is not a folder "a". Walking it: Code::not_found for a folder that is not there; those of
/// list_tar and list_zip; Code::bad_content, by name, for links that lead out of the archive or to
/// nothing, and for what is a file and a folder.
[[nodiscard]] std::shared_ptr<FileTree> open_archive_tree(const FolderRequest& request,
                                                          const ArchivePath& path);

/// The same for a folder whose sub-folders may all be named after splits, with archives as folders
/// in these, too. Its headers are read now, until another folder is met: null, then. Errors: those
/// of both.
[[nodiscard]] std::shared_ptr<FileTree> open_tree_of_splits(const FolderRequest& request,
                                                            const ArchivePath& path);

/// The tree of request.root if that leads to or into an archive; else null. Errors: those of
/// both functions above.
[[nodiscard]] std::shared_ptr<FileTree> open_tree_of_archive(const FolderRequest& request);

}  // namespace shale
