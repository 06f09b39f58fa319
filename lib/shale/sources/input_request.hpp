#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/arrays/raw_numbers.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/sample_axis.hpp"
#include "shale/encoding/image_options.hpp"
#include "shale/folders/folder_source.hpp"
#include "shale/folders/list_source.hpp"
#include "shale/format/options.hpp"
#include "shale/format/source.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/sampling/make_draw.hpp"

namespace shale {

/// Which samples of an input are taken, and in which order.
struct OrderRequest {
  SampleChoice choice = {};
  bool is_shuffled = false;
  std::uint64_t seed = 0;  ///< of is_shuffled
  /// The rows of an input of fixed rows that are taken, and their order; nullopt: all.
  std::optional<DrawRequest> draw = {};
  /// Only this part of the samples, in their order; nullopt: all.
  std::optional<PartNumber> part = {};

  /// `choice`, whose limit takes the first samples of the order: of a shuffled one any.
  [[nodiscard]] SampleChoice choice_in_order() const {
    SampleChoice ours = choice;
    if (is_shuffled && ours.limit > 0) ours.limit_seed = seed;
    return ours;
  }
};

/// How an input file of another tool is read.
struct ContainerRequest {
  std::string index_folder = {};  ///< where its index is; empty: beside it
  Parsing parsing = {};           ///< nothing: as its index says
};

/// The options of manifests that hold what --parse and --database asked for.
inline constexpr std::string_view kParseOption = "parse", kDatabaseOption = "database";
using ParsingWords = std::vector<std::pair<std::string, std::string>>;
/// Those of them that it takes, with their values as printable() has them; recorded_parsing() reads
/// them.
[[nodiscard]] ParsingWords parsing_words(const Parsing& parsing);
/// How the file was read that the dataset was made from, as far as somebody asked for it.
[[nodiscard]] Parsing recorded_parsing(const Manifest& manifest);

/// What samples of several inputs with names are joined by.
enum class JoinOn : std::uint8_t {
  unset,  ///< their order; where two inputs have keys, these must agree
  row,    ///< their order, whatever their keys
  key,
};

/// Which samples of a join by key are taken.
enum class Partners : std::uint8_t {
  unset,  ///< same as all; what has no partner is said to be left out
  all,    ///< those that are in every input
  any,    ///< those of the first input: what others lack is absent
};

struct JoinRequest {
  JoinOn on = JoinOn::unset;
  Partners partners = Partners::unset;
  /// Told each sample that is left out of a join by key, after the join: the input's path, the key,
  /// the row. Null: they are counted.
  std::function<void(const std::string& input, const std::string& key, std::uint64_t row)>
      tell_alone = {};
};

/// What --on and --partners say; empty: nothing.
[[nodiscard]] inline JoinRequest join_named(std::string_view on, std::string_view partners) {
  JoinRequest join;
  if (!on.empty()) join.on = on == "key" ? JoinOn::key : JoinOn::row;
  if (!partners.empty()) join.partners = partners == "any" ? Partners::any : Partners::all;
  return join;
}

/// What divides the arrays of a file into splits.
enum class SplitBy : std::uint8_t {
  none,
  prefix,  ///< "train_images", "train/images"
  suffix,  ///< "x_train", "images/train"
};
/// What --split-by says; empty: none.
[[nodiscard]] inline SplitBy split_by_named(std::string_view word) {
  if (word.empty()) return SplitBy::none;
  return word == "suffix" ? SplitBy::suffix : SplitBy::prefix;
}

/// What is to be read: plain data, nothing opened yet but `tree`.
struct InputRequest {
  std::vector<std::string> inputs;
  std::string output;  ///< must not lie in a folder that is read; empty: nothing is written
  std::string generator;
  LabelFile labels = {};
  ClassRequest classes = {};
  FileRequest files = {.pairs = {.policy = PairPolicy::automatic}};
  ContainerRequest container = {};
  FieldChoice fields = {};
  std::vector<SampleAxis> axes = {};  ///< of arrays, in files of other tools too
  RawNumbers raw = {};                ///< what files without a header hold, if it is given
  SplitBy split_by = SplitBy::none;   ///< of a file of named arrays
  JoinRequest join = {};              ///< of inputs with names
  OrderRequest order = {};
  OnDamage on_damage = OnDamage::stop;  ///< of a dataset
  ImageRequest images = {};             ///< what is done to the images; empty: nothing
  /// Of a folder in an archive whose headers have been read: the tree of inputs.front(). Null: it
  /// is opened.
  std::shared_ptr<FileTree> tree = nullptr;
  /// Of "-", a list of files: what stdin held, for this request and all that are copied from it.
  std::shared_ptr<StdinCopy> stdin_copy = std::make_shared<StdinCopy>();
  std::string scratch_folder;  ///< for rows that are put in order; empty: where the output is
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 256 << 20;
};

/// The share of --memory that the list of an input's files may take.
[[nodiscard]] constexpr std::uint64_t list_memory(std::uint64_t memory_bytes) {
  return memory_bytes / 8;
}

/// The share of --memory in which rows of arrays are read, and put in order.
[[nodiscard]] constexpr std::uint64_t array_memory(std::uint64_t memory_bytes) {
  return memory_bytes / 2;
}

/// The files and folders that it reads: what an output must not be, nor lie in.
[[nodiscard]] std::vector<std::string> inputs_of(const InputRequest& request);

/// What its input without a header was taken for: what is given, else what the manifest records.
[[nodiscard]] RawNumbers recorded_raw(const Manifest& manifest, const RawNumbers& given = {});

/// What the manifest of a dataset records of how its input was read: which files are samples, what
/// belongs to them, and the classes, if it `is_of_files` (a folder, an archive or a list); how a
/// file of another tool was parsed; image work. Nothing is missed where the input has less by now.
[[nodiscard]] InputRequest recorded_input(const Manifest& manifest, const std::string& dataset,
                                          bool is_of_files);

}  // namespace shale
