#include "shale/folders/odd_classes.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/ranges.h>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"

namespace shale {
namespace {

// Names, in lower case and without a year behind them, that are rarely those of classes.
constexpr std::array<std::string_view, 8> kSplitFolders = {
    "train", "training", "val", "valid", "validation", "test", "testing", "trainval"};
constexpr std::array<std::string_view, 8> kPictureFolders = {
    "image", "images", "img", "imgs", "jpegimages", "jpegs", "pictures", "photos"};
constexpr std::array<std::string_view, 19> kAnnotationFolders = {
    "annotation",   "annotations",  "annots",
    "bboxes",       "boxes",        "depth",
    "depths",       "edges",        "ground_truth",
    "groundtruth",  "gt",           "keypoints",
    "label",        "labels",       "mask",
    "masks",        "segmentation", "segmentationclass",
    "segmentations"};

bool stands_in(std::span<const std::string_view> names, std::string_view folder) {
  std::string name(folder.substr(0, folder.find_last_not_of("0123456789_-") + 1));
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> notes_on_classes(const std::vector<std::string>& classes) {
  std::vector<std::string> notes;
  std::vector<std::string> splits, images, annotations;
  for (const std::string& name : classes) {
    if (stands_in(kSplitFolders, name)) splits.push_back(printable(name));
    if (stands_in(kPictureFolders, name)) images.push_back(printable(name));
    if (stands_in(kAnnotationFolders, name)) annotations.push_back(printable(name));
  }
  if (splits.size() > 1) {
    notes.push_back(
        fmt::format("folders named like splits ({}) are taken as classes: convert each split by "
                    "itself, the second and later ones with --classes-from",
                    fmt::join(splits, ", ")));
  }
  if (annotations.empty() || images.size() + annotations.size() < 2) return notes;
  images.insert(images.end(), annotations.begin(), annotations.end());
  notes.push_back(
      fmt::format("folders named like images and annotations ({}) are taken as classes: if they "
                  "are not, convert only the image folder, with --labels",
                  fmt::join(images, ", ")));
  return notes;
}

Error holds_splits(const std::string& root, const std::vector<std::string>& names,
                   bool is_archive) {
  const std::string one =
      join_path(root, std::count(names.begin(), names.end(), "train") > 0 ? "train" : names[0]);
  return Error(Code::bad_content, "holds splits ({}), not classes",
               fmt::format("{}", fmt::join(names, ", ")))
      .at(root)
      .hint(fmt::format(
          "name one of them, {}; 'shale convert' of the {} itself makes a dataset of each in a "
          "directory",
          one, is_archive ? "archive" : "folder"));
}

Error no_classes(const SoughtFiles& sought, std::uint64_t loose_files, const std::string& root,
                 const std::string& partial) {
  return sought.none_in_classes(loose_files, root)
      .hint(partial.empty()
                ? fmt::format("pass --labels FILE (CSV: path,label), or move the {}s into one "
                              "folder per class",
                              sought.one())
                : fmt::format("pass --labels FILE, or --pairs on to take the files with the same "
                              "names: {}",
                              partial));
}

std::string note_on_loose_files(const SoughtFiles& sought, std::uint64_t count) {
  return fmt::format(
      "{} left out, as torchvision does",
      format_counted(count, fmt::format("{} beside the class folders is", sought.one()),
                     fmt::format("{}s beside the class folders are", sought.one())));
}

std::string note_on_cut_loops(std::uint64_t count) {
  return fmt::format("{} back to a folder above; such links are not followed",
                     format_counted(count, "link leads", "links lead"));
}

std::string note_on_unmatched(std::uint64_t rows, const std::string& labels_file,
                              std::string_view one, bool has_other_classes) {
  return fmt::format("{} of {} without {}: ignored{}", format_counted(rows, "row", "rows"),
                     printable(labels_file), one,
                     has_other_classes
                         ? ", as are the classes that no image has; pass --classes-from to give "
                           "several inputs one class table"
                         : "");
}

}  // namespace shale
