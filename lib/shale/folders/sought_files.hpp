#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/labels/class_table.hpp"

namespace shale {

/// The option of manifests that holds SoughtFiles::text(); of files that are arrays, their types
/// behind a bar: "npy|data:float32 (?, 3)".
inline constexpr std::string_view kSuffixesOption = "ext";

/// Which files of a folder are samples, by their names: images, or files with chosen suffixes, such
/// as videos.
class SoughtFiles {
 public:
  /// Images, as torchvision takes them.
  SoughtFiles() = default;
  /// `suffixes`: "mp4,wav", with or without dots, in any case and order; empty: images; "any":
  /// images, and files without suffix that begin like one.
  /// What is behind a bar is not of them: recorded_arrays() has it.
  /// `takes_decodable`: of images, those of has_decodable_suffix().
  /// Errors: Code::usage for an empty suffix, or one with other bytes than letters, digits and
  /// . _ - +
  explicit SoughtFiles(std::string_view suffixes, bool takes_decodable = false);

  [[nodiscard]] bool are_images() const { return suffixes_.empty(); }
  [[nodiscard]] bool takes(std::string_view name) const;
  /// It is one only if it begins like an image (begins_like_image).
  [[nodiscard]] bool takes_by_content(std::string_view name) const {
    return takes_any_ && name.find('.') == std::string_view::npos;
  }
  /// The field that holds them: "image"; "video" or "audio" where all suffixes are of that kind;
  /// else "data".
  [[nodiscard]] std::string field() const;
  /// The files are .npy files; the files are such that hold arrays with names (holds_named_arrays).
  [[nodiscard]] bool are_arrays() const;
  [[nodiscard]] bool hold_named_arrays() const;
  [[nodiscard]] bool hold_arrays() const { return are_arrays() || hold_named_arrays(); }
  /// "mp4,wav": lower case, sorted, each once; empty: images.
  [[nodiscard]] std::string text() const;

  /// For messages: "image" or "file"; "3 images" or "1 file".
  [[nodiscard]] std::string_view one() const { return are_images() ? "image" : "file"; }
  [[nodiscard]] std::string counted(std::uint64_t count) const;
  /// "images", or "files with the suffix .mp4 or .wav".
  [[nodiscard]] std::string described() const;

  // Errors of what is read as a folder: Code::bad_content.

  /// Nothing at all in it.
  [[nodiscard]] Error none_in(const std::string& root) const;
  /// `path` is that of a class, of this name; `loose`: samples beside the folders of the classes;
  /// `other`: a file in it that is not a sample.
  [[nodiscard]] Error none_in_class(std::string_view name, const std::string& path,
                                    std::uint64_t loose = 0, std::string_view other = {}) const;
  /// There are files, but none in a class. The hint is the caller's.
  [[nodiscard]] Error none_in_classes(std::uint64_t loose, const std::string& root) const;
  /// `what` is in a folder whose name begins with a dot.
  [[nodiscard]] static Error in_hidden_class(std::string_view what, const std::string& path);

 private:
  std::vector<std::string> suffixes_;  // with the dot
  bool takes_decodable_ = false, takes_any_ = false;
};

/// The types of arrays that the option has.
[[nodiscard]] std::string_view recorded_arrays(std::string_view suffixes);

/// What --ext says, as SoughtFiles::text(). Errors: Code::usage, also for an empty string.
[[nodiscard]] std::string suffixes_option(std::string_view text);

/// What to tell of class folders whose names say that they are none: splits, or images and their
/// annotations. They are read as classes, as torchvision reads them. And of names that are numbers,
/// where these are not their labels in `table` and nobody asked for an `order`.
[[nodiscard]] std::vector<std::string> notes_on_classes(const std::vector<std::string>& classes,
                                                        const ClassTable& table, ClassOrder order);

/// The errors of a folder of splits, and of one whose files lie in no folder. `partial`: what some
/// of those files have partners of (FilePairs::partial).
[[nodiscard]] Error holds_splits(const std::string& root, const std::vector<std::string>& names,
                                 bool is_archive);
[[nodiscard]] Error no_classes(const SoughtFiles& sought, std::uint64_t loose_files,
                               const std::string& root, const std::string& partial);

/// What the user is told of files beside the class folders, and of links that lead back.
/// The folders of a class that is the only one: where all files are in them, they are likely to be
/// the classes, with one folder around them.
class FoldersInside {
 public:
  /// The folder of a file, from that of the class on: "photos/cats/more".
  void note(std::string_view folder);
  [[nodiscard]] bool are_likely_classes() const { return !names_.empty() && !has_files_; }
  /// What to do. `root`: that of the class.
  [[nodiscard]] std::string note_for(const std::string& root) const;

 private:
  std::string class_;
  std::set<std::string, std::less<>> names_;  // a few of them
  bool has_files_ = false;
};

[[nodiscard]] std::string note_on_loose_files(const SoughtFiles& sought, std::uint64_t count);
[[nodiscard]] std::string note_on_marks(const std::string& labels_file, bool are_in_files);
[[nodiscard]] std::string note_on_cut_loops(std::uint64_t count);

/// What the user is told of rows of labels without file; `one` is the word for a file.
[[nodiscard]] std::string note_on_unmatched(std::uint64_t rows, const std::string& labels_file,
                                            std::string_view one, bool has_other_classes);

}  // namespace shale
