#include "shale/folders/sought_files.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/ranges.h>

#include "shale/arrays/array_headers.hpp"
#include "shale/arrays/sample_arrays.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/image/probe.hpp"

namespace shale {
namespace {

constexpr std::size_t kShownFolders = 3;
constexpr char kBar = '|';
constexpr std::string_view kAny = "any";

constexpr std::array<std::string_view, 8> kVideoSuffixes = {".avi", ".m4v",  ".mkv", ".mov",
                                                            ".mp4", ".mpeg", ".mpg", ".webm"};
constexpr std::array<std::string_view, 7> kAudioSuffixes = {".aac", ".flac", ".m4a", ".mp3",
                                                            ".ogg", ".opus", ".wav"};

char lower(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

std::string suffix_of(std::string_view text, std::string_view all) {
  std::string suffix(text.starts_with('.') ? text.substr(1) : text);
  std::ranges::transform(suffix, suffix.begin(), lower);
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789._-+";
  if (suffix.empty() || suffix.find_first_not_of(kAllowed) != std::string::npos) {
    throw Error(Code::usage, "--ext '{}' names the suffix '{}'", printable(all), printable(text))
        .hint("pass suffixes of letters and digits, separated by commas: --ext mp4,wav");
  }
  return suffix.insert(0, 1, '.');
}

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

SoughtFiles::SoughtFiles(std::string_view suffixes, bool takes_decodable)
    : takes_decodable_(takes_decodable) {
  suffixes = suffixes.substr(0, suffixes.find(kBar));
  takes_any_ = suffixes == kAny;
  if (takes_any_) return;
  for (std::string_view left = suffixes; !suffixes.empty();) {
    const std::size_t comma = left.find(',');
    suffixes_.push_back(suffix_of(left.substr(0, comma), suffixes));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  std::ranges::sort(suffixes_);
  suffixes_.erase(std::unique(suffixes_.begin(), suffixes_.end()), suffixes_.end());
}

bool SoughtFiles::takes(std::string_view name) const {
  if (takes_by_content(name)) return true;
  if (are_images()) return takes_decodable_ ? has_decodable_suffix(name) : has_image_suffix(name);
  return std::ranges::any_of(suffixes_, [&](const std::string& suffix) {
    return name.size() >= suffix.size() &&
           std::ranges::equal(name.substr(name.size() - suffix.size()), suffix, {}, lower);
  });
}

std::string SoughtFiles::field() const {
  const auto are_all_of = [this](std::span<const std::string_view> kind) {
    return std::ranges::all_of(suffixes_, [&](const std::string& suffix) {
      return std::ranges::find(kind, suffix) != kind.end();
    });
  };
  if (are_images()) return "image";
  if (are_all_of(kVideoSuffixes)) return "video";
  if (are_all_of(kAudioSuffixes)) return "audio";
  return "data";
}

bool SoughtFiles::are_arrays() const {
  return !are_images() && std::ranges::all_of(suffixes_, [](std::string_view suffix) {
    return is_array_suffix(suffix.substr(1));
  });
}

bool SoughtFiles::hold_named_arrays() const {
  return !are_images() && std::ranges::all_of(suffixes_, [](std::string_view suffix) {
    return holds_named_arrays(suffix.substr(1));
  });
}

std::string SoughtFiles::text() const {
  std::string text(takes_any_ ? kAny : "");
  for (const std::string& suffix : suffixes_) {
    if (!text.empty()) text += ',';
    text.append(suffix, 1);
  }
  return text;
}

std::string SoughtFiles::counted(std::uint64_t count) const {
  return are_images() ? format_counted(count, "image", "images")
                      : format_counted(count, "file", "files");
}

std::string SoughtFiles::described() const {
  if (are_images()) return "images";
  return fmt::format("files with the suffix {}", fmt::join(suffixes_, " or "));
}

Error SoughtFiles::none_in(const std::string& root) const {
  return Error(Code::bad_content, "holds no {}", described())
      .at(root)
      .hint(
          are_images()
              ? "an image is a file with the suffix .jpg .jpeg .jpe .jfif .png .ppm .bmp "
                ".pgm .tif .tiff or .webp; --ext takes files with other suffixes, --ext any images "
                "without suffix, --allow-empty makes an empty dataset"
              : "--allow-empty makes an empty dataset");
}

Error SoughtFiles::none_in_class(std::string_view name, const std::string& path,
                                 std::uint64_t loose, std::string_view other) const {
  if (loose > 0) {
    return Error(Code::bad_content, "folder '{}' has no {}, but {} beside it", printable(name),
                 described(), loose == 1 ? "one is" : fmt::format("{} are", loose))
        .at(path)
        .hint(fmt::format(
            "if the {} beside it are the samples, move the folder away; if it is a class, pass "
            "--allow-empty",
            are_images() ? "images" : "files"));
  }
  const std::size_t dot = other.rfind('.');
  const std::string suffix =
      dot == std::string_view::npos ? "gif" : printable(other.substr(dot + 1));
  return Error(Code::bad_content, "class '{}' has no {}", printable(name), described())
      .at(path)
      .hint(are_images()
                ? fmt::format("remove the folder, pass --allow-empty to keep the class without "
                              "samples, or, if its files are samples of another kind, --ext with "
                              "their suffixes: --ext {}",
                              suffix)
                : "remove the folder, or pass --allow-empty to keep the class without samples");
}

Error SoughtFiles::none_in_classes(std::uint64_t loose, const std::string& root) const {
  return Error(Code::bad_content, "holds {} but no class folders", counted(loose)).at(root);
}

Error SoughtFiles::in_hidden_class(std::string_view what, const std::string& path) {
  return Error(Code::bad_content, "hidden folder holds {} and may be a class", what)
      .at(path)
      .hint(
          "pass --hidden skip to leave it out, or --hidden keep to include it as torchvision "
          "does");
}

std::string_view recorded_arrays(std::string_view suffixes) {
  const std::size_t bar = suffixes.find(kBar);
  return bar == std::string_view::npos ? std::string_view() : suffixes.substr(bar + 1);
}

std::string suffixes_option(std::string_view text) {
  if (text.empty() || text.find(kBar) != std::string_view::npos) (void)suffix_of(text, text);
  return SoughtFiles(text).text();
}

std::vector<std::string> notes_on_classes(const std::vector<std::string>& classes,
                                          const ClassTable& table, ClassOrder order) {
  std::vector<std::string> notes;
  std::string note = note_on_numbers(classes, table);
  if (!note.empty() && order == ClassOrder::bytewise) notes.push_back(std::move(note));
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

void FoldersInside::note(std::string_view folder) {
  const std::size_t slash = folder.find('/');
  class_ = folder.substr(0, slash);
  if (slash == std::string_view::npos) {
    has_files_ = true;
    return;
  }
  const std::string_view below = folder.substr(slash + 1);
  const std::string_view name = below.substr(0, below.find('/'));
  if (names_.size() <= kShownFolders && !names_.contains(name)) names_.emplace(name);
}

std::string FoldersInside::note_for(const std::string& root) const {
  std::string names;
  std::size_t left = kShownFolders;
  for (const std::string& name : names_) {
    names += names.empty() ? "" : ", ";
    names += left > 0 ? printable(name) : "...";
    if (left-- == 0) break;
  }
  return fmt::format(
      "all samples are in one class, '{}', whose files are all in folders of it ({}); if these are "
      "the classes, convert {}",
      printable(class_), names, printable(join_path(root, class_)));
}

std::string note_on_loose_files(const SoughtFiles& sought, std::uint64_t count) {
  return fmt::format(
      "{} left out, as torchvision does",
      format_counted(count, fmt::format("{} beside the class folders is", sought.one()),
                     fmt::format("{}s beside the class folders are", sought.one())));
}

std::string note_on_marks(const std::string& labels_file, bool are_in_files) {
  return fmt::format(
      "{} have letters with accents in two characters (Unicode's form NFD, as a Mac has them), {} "
      "in "
      "one (NFC): they are compared as one",
      are_in_files ? "names of files" : "keys in " + printable(labels_file),
      are_in_files ? "keys in " + printable(labels_file) : "names of files");
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
