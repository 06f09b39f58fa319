#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/format/source.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/labels/label_rows.hpp"
#include "shale/partners/file_pairs.hpp"

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

/// Which files become fields beside the sample's own (partners/file_pairs, folders/metadata_rows).
struct PairRequest {
  PairPolicy policy = PairPolicy::off;
  bool is_given = false;  ///< by the user: refused where it means nothing
  /// Only these, whatever `policy` says: "json,txt", with their types; empty: any.
  std::string suffixes = {};
  /// Of folders that are joined: their types, as kFoldersOption has them; empty: not known.
  std::string folders = {};
  /// Of the dataset that is appended to: that option, or kPairsOption. A side of its arrays that is
  /// free may be of one length in what is appended, and no value of an optional field absent.
  std::string standing = {};
  /// Rows of metadata.csv and metadata.jsonl become fields, whatever `policy` says.
  bool takes_metadata = false;

  [[nodiscard]] bool wants_metadata() const { return takes_metadata || policy != PairPolicy::off; }
};

/// Lists of files that outlive a walk (manifest/stored_listing).
struct ListingRequest {
  /// The list for several processes; the first one makes it. Empty: none.
  std::string shared = {};
  bool is_only_read = false;  ///< `shared` is read if it is there, and not made
  /// One that stands for the walk, if its facts are listing_facts() of the request; files are then
  /// compared with it as they are read. Empty: none.
  std::string stored = {};
  bool is_needed = false;  ///< another one than of this request is an error
  /// Where the list that a walk makes is written, durably; a file that is there goes. Empty:
  /// nowhere.
  std::string written = {};
};

/// Which files of a folder, an archive or a list are samples, and what belongs to them.
struct FileRequest {
  HiddenPolicy hidden = HiddenPolicy::unset;
  std::string suffixes = {};        ///< of the files that are samples: "mp4,wav"; empty: images
  bool takes_decodable = false;     ///< images of all types that are decoded, not only those that
                                    ///< readers take: they are to be written as another type
  bool allow_empty = false;         ///< classes without images, and no images at all, are fine
  bool refuses_incomplete = false;  ///< a file without row, and a row without file, in the file of
                                    ///< labels are errors; else the one is a sample that lacks
                                    ///< something (PendingSample::lacks), the other is ignored
  bool may_be_flat = false;    ///< images that lie in no class folder, and have no label, are fine
  bool groups_frames = false;  ///< images are frames: a sample is a video
  /// Samples that are files of arrays become tensors, by the headers of all, unless `pairs` wants
  /// bytes. False: only those whose types follow in `suffixes`.
  bool finds_arrays = true;
  std::string standing = {};       ///< of a dataset that is appended to: `suffixes`, with its types
  bool takes_any_archive = false;  ///< archives are those of files, also where they seem to hold
                                   ///< samples of WebDataset
  FrameOrder frame_order = FrameOrder::natural;
  PairRequest pairs = {};
  ListingRequest listing = {};
};

struct FolderRequest {
  std::string root;
  LabelFile labels = {};  ///< no path: labels are the class folders
  ClassRequest classes = {};
  FileRequest files = {};
  std::uint64_t most_sample_bytes = 0;  ///< of a stream; 0: what `all_memory_bytes` leaves
  /// Of a stream that is compared: the label of a class that nobody knows is -1, not an error.
  bool takes_unknown_classes = false;
  bool may_mix_labels = false;  ///< numbers beside names are names, as with a class table
  bool without_labels = false;  ///< a flat folder whose labels are not asked for: all labels are 0
  bool needs_labels = true;     ///< false: without class folders it is such a one, not an error
  OnDamage on_damage = OnDamage::stop;         ///< of an archive that has checksums
  std::string scratch_folder = {};             ///< for lists that outgrow the memory
  std::uint64_t memory_bytes = 32 << 20;       ///< for the list of files
  std::uint64_t all_memory_bytes = 256 << 20;  ///< of the run: the names of classes go by it
  /// Called for each file and each row of labels, again and again: may throw Code::interrupted.
  std::function<void()> stop_if_asked = [] {};
  /// Called for each folder below the root that is entered (WalkOptions::enters): may throw.
  std::function<void(std::uint64_t device, std::uint64_t inode)> enters = nullptr;
  /// What is walked, if `root` is not a folder; null: the folder.
  std::shared_ptr<FileTree> tree = nullptr;
  /// The folders whose files are joined with those of `root`, which is the first of them; empty:
  /// `root` alone. There are no pairs then.
  std::vector<NamedFolder> folders = {};
};

}  // namespace shale
