#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shale/format/format.hpp"

namespace shale {

/// The text files that some readers want beside the samples: the names of the classes, and for each
/// of two parts of the input the keys of its samples.
struct ReaderLists {
  std::string_view program;       ///< whose readers they are: "CoCLR"
  std::string_view classes_name;  ///< the file with a class per line
  std::string_view train_name;    ///< of the part `train`: rows of key and number of elements
  std::string_view other_name;    ///< of the other part, `val` or `test`
  std::string_view behind_key;    ///< what a row has between the key and the comma
  /// A JSON object of keys and numbers of all samples that are in either part; empty: there is
  /// none.
  std::string_view numbers_name = {};
  bool wants_each_class = true;  ///< in both parts
};

/// For a layout of an image and a label, where an input has not just these.
inline constexpr std::string_view kTwoFieldsHint =
    "for a folder pass --pairs off, which leaves out the files beside its images; for a dataset or "
    "arrays name the two with --fields; no other input can have this layout";

/// A way of a format to write for readers of other programs, or for one of its own conventions: a
/// row of Format::layouts. Nothing but the format and this row knows it by name.
struct Layout {
  /// What is written: shards or one file, as without it; one file; a directory with a file per
  /// class; a directory with a file for each part of a split.
  enum class Writes { anything, file, class_files, list_files };

  std::string_view name;     ///< --layout
  std::string_view summary;  ///< what is written, for --help
  /// The value of kLayoutOption in each file; empty: the format's own, so nothing is different.
  std::string_view option;
  Writes writes = Writes::file;
  std::string_view container;    ///< "LMDB", for messages
  std::string_view suffix_hint;  ///< "choose an output that ends in .lmdb, or in .mdb"
  /// The frames of videos are in the order of the bytes of their names; where the input has them in
  /// an order of its own, this is said. Empty: as always.
  std::string_view frames_note = {};
  std::string_view lists_note = {};  ///< said of a file whose lists were not asked for
  const ReaderLists* lists = nullptr;

  /// Of class_files: the name of the directory of a class; `input` is the name of the input.
  std::string (*class_directory)(std::string_view class_name, std::string_view input) = nullptr;
  std::string_view data_name = {}, lock_name = {};  ///< the file in it, and what its readers add
  /// Of class_files: the layout of an output that is one such file; empty: there is none.
  std::string_view one_file_layout = {};
  /// Of a file: its directory ends in this, and holds the file `data_name`; empty: any name goes.
  std::string_view directory_suffix = {};
  /// Of a file: the text file beside it, with a line for each of its entries, in their order.
  std::string_view entries_name = {};
  /// Such a line. `value` begins as the entry's value does. Empty: it takes more of it.
  std::string (*entry_line)(std::string_view key, Bytes value) = nullptr;
  /// Of list_files: the file with the samples of a part.
  std::string (*part_name)(std::string_view part) = nullptr;
};

/// A layout with the format that has it.
struct FormatLayout {
  const Format* format = nullptr;
  const Layout* layout = nullptr;
};
/// All layouts, format by format.
[[nodiscard]] std::vector<FormatLayout> all_layouts();
/// Errors: Code::usage for a name that no format has.
[[nodiscard]] FormatLayout layout_named(std::string_view name);

}  // namespace shale
