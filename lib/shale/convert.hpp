#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shale/callbacks.hpp"
#include "shale/output.hpp"

namespace shale {

/// What to do with a sample whose content is bad: empty, truncated, not an image. Storage faults
/// always stop the run.
enum class OnError {
  skip,  ///< left out, listed in skipped.csv and counted
  keep,  ///< written like any other
  fail,  ///< the first one ends the run
};

/// A conversion. Members with the name of an option of `shale convert` mean what its manual page
/// says, and take the words that it takes; "": as if it were not given.
struct ConvertOptions {
  /// Folders, archives, datasets, files of other tools, arrays ("name=x.npy").
  std::vector<std::string> inputs;
  Destination to;
  bool append = false;           ///< behind the samples of the dataset at `to.path`
  std::string new_classes = {};  ///< "append": those that it does not have come behind its others
  std::string layout = {};       ///< of `to`: that of another reader
  std::string compress = {};     ///< of an .npz archive: "none" or "deflate"
  std::vector<std::string> fields = {};  ///< these alone, in this order; empty: all
  std::vector<std::string> drop = {};    ///< all but these
  std::string rename = {};               ///< "image:images,label:labels", or "standard"
  std::string cast = {};                 ///< "x:float32,y:uint16"
  bool lossy = false;                    ///< of `cast`: numbers that do not fit are accepted
  std::string axis = {};                 ///< "images=-1": where the samples of arrays lie
  /// Of several inputs with names: "row" or "key"; and of a join by key, "all" or "any".
  std::string on = {}, partners = {};
  std::string labels = {};                         ///< the file with the labels of a flat folder
  std::string label_column = {}, key_column = {};  ///< of `labels`
  std::string label_separator = {};                ///< of several labels in a cell of `labels`
  std::string strip_prefix = {};  ///< what paths in `labels` begin with, and files do not
  std::string label_from = {};    ///< "{label}_{*}.jpg": the class is in the name of each file
  std::string classes_from = {};
  std::string class_order = {};           ///< "natural" or "number"; empty: bytewise
  std::string select = {}, exclude = {};  ///< files that list samples
  std::string keys = {};  ///< of both, what their lines are: "escaped", "raw", "nul" or "rows"
  std::vector<std::string> classes = {};     ///< the samples of these alone; empty: all
  std::optional<std::uint64_t> shards = {};  ///< so many, instead of the bounds in `to`
  std::uint64_t limit = 0;                   ///< the first so many, with `shuffle` any; 0: all
  std::vector<std::string> split = {};       ///< "train=0.9,val=0.1": a dataset for each
  std::string split_group = {};              ///< samples with one value of this field stay together
  std::string split_by = {};                 ///< "prefix", "suffix": of the names of arrays
  bool shuffle = false;
  std::uint64_t seed = 0;  ///< of `shuffle`, and of shares in `split`
  std::string part = {};   ///< "3/128", "slurm", "slurm/128", "mpi": this part alone
  std::optional<std::uint64_t> part_offset = {};  ///< of "slurm/128": the part of task 0
  std::string listing = {};  ///< of a folder: the file with the list of its files
  std::string ext = {};      ///< "mp4,wav": files that are samples; empty: images
  /// "on", "off", "bytes": files with the name of an image are fields of it
  std::string pairs = {};
  std::string hidden = {};        ///< "skip", "keep": files and folders that begin with a dot
  std::string group = {};         ///< "frames": a folder of images is a sample
  bool allow_empty = false;       ///< classes without images, and no images at all, are accepted
  std::string index_folder = {};  ///< (files of other tools) as --index-dir: where the index is
  std::string parse = {};         ///< (files of other tools) how values become fields
  std::string database = {};      ///< (LMDB files) named databases, with commas
  std::string raw = {};           ///< "uint16,400": the inputs are numbers without a header
  std::uint64_t raw_offset = 0;   ///< with `raw`, bytes before the first row of each file
  std::vector<std::string> resize = {}, crop = {}, encode = {}, quality = {}, color = {};
  bool only_larger = false, apply_rotation = false, strip_metadata = false;
  std::string depth = {}, alpha = {}, pixel_axes = {};
  std::string masks = {};  ///< "a,b": the image fields that are label maps
  OnError on_error = OnError::skip;
  std::string max_errors = "1%";  ///< how many bad samples do not end the conversion
  Resources resources = {};
};

struct ConvertResult {
  WrittenSet set;              ///< of several splits: their sums, without digests
  bool was_complete = false;   ///< it had been written before: nothing was done
  std::uint64_t skipped = 0;   ///< bad samples, by this run
  std::uint64_t findings = 0;  ///< of to.verify: more than 0 is damage
  std::vector<std::string> notes = {};
};

/// Converts inputs into a dataset. The result depends on inputs and options alone. Killed at any
/// moment it leaves no manifest (dataset.json); called again it continues. Throws nothing but
/// Error, and what callbacks throw.
/// Errors: every Code; the first in the order of the input. Messages name options as the program
/// spells them.
[[nodiscard]] ConvertResult convert(const ConvertOptions& options, const Callbacks& callbacks = {});

}  // namespace shale
