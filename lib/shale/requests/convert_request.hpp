#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/encoding/duplicates.hpp"
#include "shale/encoding/encode_batch.hpp"
#include "shale/format/source.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/output_file.hpp"
#include "shale/labels/split_request.hpp"
#include "shale/sources/input_request.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

struct Format;
struct Layout;

/// How many bad samples a run tolerates: a number, or a share of all samples (at least 10 are
/// always tolerated).
struct ErrorAllowance {
  bool is_share = true;
  double share = 0.01;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t limit(std::uint64_t samples) const;
};
/// "25" or "1%" or "0.5%". Errors: Code::usage.
[[nodiscard]] ErrorAllowance parse_error_allowance(std::string_view text);

/// What was said of an output besides its name; nullopt, false: nothing.
struct OutputOptions {
  std::optional<std::string> format = {};
  std::optional<std::uint64_t> shard_bytes = {}, shard_samples = {}, shards = {};
  std::optional<std::uint64_t> row_group_bytes = {};
  std::optional<std::string> compression = {};  ///< "none" or "deflate"
  bool with_index = false;
  std::optional<std::string> layout = {};
  bool is_append = false;  ///< format and bounds that are not given are those of the dataset
  /// These were given, whatever their values: they may do nothing.
  bool has_on_error = false, has_seed = false;
};

/// A conversion as requested: plain data, nothing opened yet.
struct ConvertRequest : InputRequest {
  OutputOptions asked;  ///< what the members below were made from, by choose_output()
  std::string format;
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;
  std::uint64_t shard_samples = ~std::uint64_t{0};
  std::uint64_t row_group_bytes = 0;  ///< 0: as the format has it
  /// So many shards, of all parts together: `shard_samples` follows from it when the samples have
  /// been counted. 0: the bounds say how many.
  std::uint64_t shards = 0;
  bool overwrite = false, verify = false;
  /// The samples come behind those of the finished dataset at `output`. An empty format, and 0 for
  /// the size of shards, are then those of that dataset.
  bool is_append = false;
  /// Of a program that writes the samples itself, and may be the one of before: rows of the last
  /// append are not appended again, though they have no keys.
  bool is_run_again = false;
  bool is_deflated = false;  ///< of an .npz archive: its members are compressed
  bool with_index = false;   ///< of an output that is one file: its index is written next to it
  /// Whose readers it is for: a name of all_layouts(). Empty: shale's own.
  std::string layout = {};
  /// A dataset for each part of it; of a layout with ReaderLists: those lists. Empty: none.
  SplitRequest split = {};
  IoMode io = IoMode::automatic;
  OnError on_error = OnError::skip;
  ErrorAllowance max_errors;
};

/// The same as of its InputRequest, and the files of its split.
[[nodiscard]] std::vector<std::string> inputs_of(const ConvertRequest& request);

struct AppendedSamples {
  std::uint64_t samples = 0, shards = 0, payload_bytes = 0;
};

/// A text file that came with an output, for its readers.
struct WrittenList {
  std::string name;
  std::uint64_t rows = 0;
};

/// The name of stdout as output.
inline constexpr std::string_view kStdout = "-";

/// What is written.
enum class OutputKind {
  shards,
  appended,        ///< shards behind those of a dataset
  array,           ///< .npy
  archive,         ///< .npz
  tensors,         ///< .pt, .safetensors
  container_file,  ///< one file of any other format
  class_files,     ///< a directory with a file per class
  list_files,      ///< a directory with a file per part of a split
  stream,          ///< one file, to stdout
};

/// What a conversion writes, as it is planned and as it comes out.
struct ConvertOutput {
  OutputKind kind = OutputKind::shards;
  std::string output;
  std::string split = {};  ///< of one dataset of several: its name
  /// Input, format, layout, image work, part, counts, and what is left out.
  Manifest manifest = {};
  std::uint64_t file_bytes = 0;  ///< of all shards, with their indexes; of the one file
  /// Of a directory with a file per class, or per part of a split: the first of them; else empty.
  std::string first_file = {};
  std::vector<WrittenList> lists = {};  ///< of a split: beside the one file, or in the directory
  /// Of --append: what the run adds; `manifest` is then that of the whole set.
  std::optional<AppendedSamples> appended = {};
  std::vector<std::string> notes = {};

  /// False for directories of shards.
  [[nodiscard]] bool is_of_files() const {
    return kind != OutputKind::shards && kind != OutputKind::appended;
  }
};

/// The result.
struct ConvertReport : ConvertOutput {
  bool was_complete = false;  ///< the output was finished before: nothing was done
  /// And the input is newer or another file: its content was found to be the same.
  bool was_compared = false;
  std::string index = {};      ///< of one file: the manifest next to it; empty: none
  std::uint64_t skipped = 0;   ///< by this run; manifest.skipped counts those before it too
  std::uint64_t left_out = 0;  ///< by this run, of manifest.left_out
  std::vector<SkippedSample> first_skipped = {};  ///< at most 10; where there is no list, 1000
  bool was_verified = false;
  VerifyReport verification = {};
  /// Of a run that writes a dataset per split: each of them; all else is then their sum. Else
  /// empty.
  std::vector<ConvertReport> splits;
  SplitDuplicates in_two_splits = {};
};

/// All that is decided before the first sample is read. The shards are counted by the sizes of what
/// goes in.
struct ConvertPlan : ConvertOutput {
  std::uint64_t data_bytes = 0;  ///< without indexes and block lists
  /// Samples that are damaged or lack something, as far as is known before their payload is read;
  /// manifest.skipped counts those before it too.
  std::uint64_t skipped = 0;
  /// With image work: the sizes are an estimate, by so many samples.
  std::optional<std::uint64_t> measured = {};
  SpaceNeed space = {};  ///< what is written at least, beyond what an earlier run has written
  /// Of a result that stands already: there is nothing to do.
  std::optional<ConvertReport> complete = {};
  std::vector<ConvertPlan> splits;  ///< as in the report
};

[[nodiscard]] OutputKind kind_of_output(const ConvertRequest& request);

/// Null: none.
[[nodiscard]] const Layout* layout_of(const ConvertRequest& request);

/// True for the name of an output that is one array: it ends in .npy.
[[nodiscard]] inline bool is_array_name(std::string_view output) {
  return output.ends_with(".npy");
}

/// True for the name of an output that is an archive of arrays: it ends in .npz.
[[nodiscard]] inline bool is_archive_name(std::string_view output) {
  return output.ends_with(".npz");
}

/// True for the name of an output that holds tensors: it ends in .pt or .safetensors.
[[nodiscard]] inline bool is_tensor_name(std::string_view output) {
  return output.ends_with(".pt") || output.ends_with(".safetensors");
}

/// True for the name of an output that holds the rows of one field and nothing else, if it has one
/// field.
[[nodiscard]] inline bool may_be_one_array(std::string_view output) {
  return is_array_name(output) || is_tensor_name(output);
}

/// The format of an output that is one file, by the suffix of its name (.npy .lmdb .h5 .hdf5
/// .tfrecord .pt .safetensors; of the members of .npz: npy); null for any other name, which is a
/// directory of shards.
[[nodiscard]] const Format* format_of_output(std::string_view output);

}  // namespace shale
