#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/encoding/image_options.hpp"
#include "shale/folders/folder_source.hpp"
#include "shale/folders/stdin_copy.hpp"
#include "shale/format/options.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/sampling/make_draw.hpp"

namespace shale {

/// What is to be read, and in which order: plain data, nothing opened yet but `tree`.
struct InputRequest {
  std::vector<std::string> inputs;
  std::string output;  ///< must not lie in a folder that is read; empty: nothing is written
  std::vector<std::string>
      fields;  ///< of a dataset or of arrays: only these, in this order; empty: all
  std::string generator;
  std::string labels_file, classes_from;
  /// The class table itself, instead of `classes_from`, and the folder that it was made of, for
  /// messages. Empty: none.
  std::vector<std::string> class_names = {};
  std::string class_names_from = {};
  /// The dataset that the samples come behind, if it has classes: a folder takes its table, and may
  /// add classes behind it. Empty: none.
  std::string extended_set = {};
  bool adds_classes = false;
  std::string index_folder;        ///< of an input file of another tool
  std::optional<Dialect> dialect;  ///< how its values are read; nullopt: as its index says
  HiddenPolicy hidden = HiddenPolicy::unset;
  bool groups_frames = false;        ///< the images of a folder are frames: a sample is a video
  bool has_bytewise_frames = false;  ///< in bytewise order of their names, not in natural order
  ImageRequest images = {};          ///< what is done to the images; empty: nothing
  std::string suffixes = {};         ///< of the files of a folder that are samples; empty: images
  bool allow_empty = false, is_shuffled = false;
  std::uint64_t seed = 0;  ///< of is_shuffled
  SampleChoice choice = {};
  /// The rows of an input of fixed rows that are taken, and their order; nullopt: all.
  std::optional<DrawRequest> draw = {};
  /// Only this part of the samples, in their order; nullopt: all.
  std::optional<PartNumber> part = {};
  /// Of a folder: the file that has its list, for several processes; the first one makes it.
  std::string shared_listing = {};
  /// Of a folder in an archive whose headers have been read: the tree of inputs.front(). Null: it
  /// is opened.
  std::shared_ptr<FileTree> tree = nullptr;
  /// Of a folder: FolderRequest has them.
  std::string stored_listing = {}, new_listing = {};
  std::string label_column = {}, key_column = {};  ///< of labels_file
  PairPolicy pairs = PairPolicy::automatic;
  bool asks_for_pairs = false;     ///< `pairs` was given: refused where it means nothing
  std::string pair_suffixes = {};  ///< FolderRequest has it
  bool takes_metadata = false;     ///< whatever `pairs` says: FolderRequest has it
  bool refuses_incomplete = false;
  /// Of "-", a list of files: what stdin held, for this request and all that are copied from it.
  std::shared_ptr<StdinCopy> stdin_copy = std::make_shared<StdinCopy>();
  std::string scratch_folder;  ///< for rows that are put in order; empty: where the output is
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 256 << 20;
};

/// The files and folders that it reads: what an output must not be, nor lie in.
[[nodiscard]] std::vector<std::string> inputs_of(const InputRequest& request);

}  // namespace shale
