#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/arrays/array_file.hpp"
#include "shale/data/left_out.hpp"
#include "shale/data/sample_axis.hpp"

namespace shale {

/// A column of rows: arrays of one dtype and one shape of rows, end to end.
struct ArrayColumn {
  std::string name;               ///< of its field
  std::string member;             ///< what the input calls it: "train/x" of the field train_x
  std::vector<ArrayFile> arrays;  ///< at least one
  [[nodiscard]] std::uint64_t rows() const;
};

/// The arrays that the words of a command name.
struct ArrayColumns {
  std::vector<ArrayColumn> columns;
  std::vector<std::string> notes;  ///< what the user should know, a sentence each
  /// By label, as what lies beside a file says it (batches.meta of CIFAR); empty: nothing does.
  std::vector<std::string> classes = {};
  LeftOutList left_out = {};
};

/// The path in a word of a command: what follows the "=" of "name=file", unless the word itself is
/// a path that exists.
[[nodiscard]] std::string path_in_word(const std::string& input);

/// What is wanted of arrays, and how they are read.
struct ArrayChoice {
  std::vector<std::string> fields = {};   ///< only these, by field or member, in this order
  std::vector<std::string> dropped = {};  ///< not these
  std::vector<SampleAxis> axes = {};      ///< of columns whose rows do not lie along the first
  ArrayReading reading = {};
};

/// What `inputs` are, if they are arrays: each an .npy or idx file, or one that `reading` says to
/// be raw numbers, whose column is "x", an .npz archive or a file of tensors, whose arrays are
/// columns of their names, or "name=file". Inputs of one name follow one another. A path that
/// exists is a path, whatever it looks like. Nullopt for inputs that are not arrays at all. Without
/// a choice of fields: all that fields can hold. Errors: same as open_arrays; Code::usage for
/// arrays among other inputs, an archive of several arrays under one name, a field that is not
/// there; Code::unsupported, by name, for two arrays of one field; what is wrong with an array that
/// is asked for, or that is not left out; Code::schema, with both, for arrays of one column that
/// differ in dtype or shape, and for columns that differ in length.
[[nodiscard]] std::optional<ArrayColumns> find_array_columns(const std::vector<std::string>& inputs,
                                                             const ArrayChoice& choice = {});

}  // namespace shale
