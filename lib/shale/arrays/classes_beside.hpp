#pragma once

#include <span>
#include <string>
#include <vector>

namespace shale {

/// What a pickle that lies beside another one calls the classes of its columns: `label_names` in
/// batches.meta (CIFAR-10) those of `labels`, `fine_label_names` in meta (CIFAR-100) those of
/// `fine_labels`.
struct ClassesBeside {
  std::string path;                 ///< of that pickle; empty: there is none
  std::vector<std::string> fields;  ///< whose classes it names
  std::vector<std::string> names;   ///< by label, if that is one field
};
/// Of the file at `path`, if it is a pickle, and these columns of it. A pickle that cannot be read
/// names no classes. Errors: Code::io.
[[nodiscard]] ClassesBeside classes_beside(const std::string& path,
                                           std::span<const std::string> fields);

/// The largest pickle in the folder, of the first thousand entries; empty: there is none. Errors:
/// Code::io.
[[nodiscard]] std::string pickle_in(const std::string& folder);

}  // namespace shale
