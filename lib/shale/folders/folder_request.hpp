#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/folders/file_pairs.hpp"
#include "shale/folders/named_folder.hpp"
#include "shale/labels/sample_choice.hpp"

namespace shale {

class FileTree;

/// Kinds of input, as manifests name them.
/// `kClassFolders`: of files that are not images.
inline constexpr std::string_view kImageFolder = "image folder", kFlatFolder = "flat folder",
                                  kClassFolders = "class folders";

/// What to do with entries whose name begins with '.'.
enum class HiddenPolicy {
  unset,  ///< skipped and counted; but a hidden class folder that holds images is an error
  skip,   ///< skipped and counted, all of them
  keep,   ///< taken like any other, as torchvision takes them
};

/// The order of the frames of a video, by their names.
enum class FrameOrder { natural, bytewise };

struct FolderRequest {
  std::string root;
  std::string labels_file;   ///< as LabelFile::path; empty: labels are the class folders
  std::string classes_from;  ///< a dataset or a text file; empty: the table is made here
  /// The table itself, and the folder that it was made of, for messages; empty: none.
  std::vector<std::string> class_names = {};
  std::string class_names_from = {};
  bool extends_set = false;   ///< `classes_from` is the dataset that the samples come behind
  bool adds_classes = false;  ///< those that `classes_from` lacks come behind it, by name
  std::uint64_t most_sample_bytes = 0;  ///< of a stream; 0: what `all_memory_bytes` leaves
  /// Of a stream that is compared: the label of a class that nobody knows is -1, not an error.
  bool takes_unknown_classes = false;
  bool may_mix_labels = false;  ///< numbers beside names are names, as with a class table
  HiddenPolicy hidden = HiddenPolicy::unset;
  std::string suffixes = {};    ///< of the files that are samples: "mp4,wav"; empty: images
  bool allow_empty = false;     ///< classes without images, and a folder without images, are fine
  bool without_labels = false;  ///< a flat folder whose labels are not asked for: all labels are 0
  FrameOrder frame_order = FrameOrder::natural;  ///< of a folder of videos
  bool is_shuffled = false;
  std::uint64_t seed = 0;
  std::string scratch_folder;                  ///< for lists that outgrow the memory
  std::uint64_t memory_bytes = 32 << 20;       ///< for the list of files
  std::uint64_t all_memory_bytes = 256 << 20;  ///< of the run: the names of classes go by it
  /// Called for each file and each row of labels, again and again: may throw Code::interrupted.
  std::function<void()> stop_if_asked = [] {};
  /// Called for each folder below the root that is entered (WalkOptions::enters): may throw.
  std::function<void(std::uint64_t device, std::uint64_t inode)> enters = nullptr;
  /// A listing (folders/stored_listing) that stands for the walk, if its facts are listing_facts()
  /// of this request; files are then compared with it as they are read. Empty: none.
  std::string stored_listing = {};
  bool needs_listing = false;  ///< another one than of this request is an error
  /// Where the list that a walk makes is written, durably; a file that is there goes. Empty:
  /// nowhere.
  std::string new_listing = {};
  /// What is walked, if `root` is not a folder; null: the folder.
  std::shared_ptr<FileTree> tree = nullptr;
  /// The files that are taken, by their rows in the list; null: all.
  std::shared_ptr<ChosenRows> chosen = nullptr;
  std::string label_column = {}, key_column = {};  ///< as in LabelFile
  /// A file without row, and a row without file, in the file of labels are errors; else the one is
  /// a sample that lacks something (PendingSample::lacks), and the other is ignored.
  bool refuses_incomplete = false;
  PairPolicy pairs = PairPolicy::off;
  std::string pair_suffixes = {};  ///< only these, whatever `pairs` says: "json,txt"; empty: any
  /// Rows of metadata.csv and metadata.jsonl (folders/metadata_rows) become fields.
  bool takes_metadata = false;
  /// The folders whose files are joined with those of `root`, which is the first of them; empty:
  /// `root` alone. There are no pairs then.
  std::vector<NamedFolder> folders = {};
};

}  // namespace shale
