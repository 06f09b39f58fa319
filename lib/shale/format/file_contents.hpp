#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// An attribute: what a file says beside its data.
struct NamedText {
  std::string name, text;  ///< the text is short, whatever the value is
  friend bool operator==(const NamedText&, const NamedText&) = default;
};

/// One array of a file: a dataset of HDF5, a member of an archive, a tensor.
struct ListedArray {
  std::string path;
  std::string type;                       ///< for people: "float32", "text", "a reference"
  std::vector<std::uint64_t> shape = {};  ///< no sides: a single value
  std::uint64_t stored_bytes = 0;
  std::string compression = {};  ///< and what else is done to its bytes: "deflate, shuffle"
  std::vector<NamedText> attributes = {};
  std::string obstacle = {};  ///< why no field can hold it; empty: one can
  bool is_fixed = true;       ///< all elements have one size

  /// Whether it can be a column of a table: it has rows that a field can hold.
  [[nodiscard]] bool is_column() const { return obstacle.empty() && !shape.empty(); }
};

/// Groups (or datasets) of which each may be a sample.
struct ListedGroups {
  std::string parent;       ///< "/", "data"
  std::uint64_t count = 0;  ///< how many there are below it
  bool is_clear = false;    ///< nothing else can be meant
  std::string option = {};  ///< that a conversion needs all the same: "--parse samples"
};

/// What a file of another tool holds, whether or not it is a table of samples.
struct FileContents {
  std::string_view format;                 ///< Format::name
  std::string_view noun;                   ///< what an array is called: "dataset", "member"
  std::vector<ListedArray> arrays;         ///< in the order of their paths, or that of the file
  std::uint64_t more = 0;                  ///< that are not listed, at least
  std::vector<std::string> others = {};    ///< "group 'x'", "soft link 'y'": the first of the rest
  std::vector<NamedText> attributes = {};  ///< of the file
  std::optional<ListedGroups> samples = {};
  bool is_known = false;         ///< it has a layout that is converted as it is
  std::uint64_t row_groups = 0;  ///< of Format::list_columns: parts that can be read one by one
};

/// "train" of "train/x", "train_images" and "images_train"; empty for what names no split.
[[nodiscard]] std::string_view split_in(std::string_view path);

}  // namespace shale
