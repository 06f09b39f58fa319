#include "shale/sources/odd_classes.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/ranges.h>

#include "shale/base/printable.hpp"

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

}  // namespace shale
