#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "shale/folders/folder_request.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/labels/sample_choice.hpp"

namespace shale {

/// A list of files that stdin held, for as many readings as a run needs: of a split, of chosen
/// samples. Thread-safe.
class StdinCopy {
 public:
  /// Takes a stream that was opened to look at its beginning, for whoever reads it.
  void hold(std::unique_ptr<InputStream> opened);
  /// That stream, once. Null: nothing was opened.
  [[nodiscard]] std::unique_ptr<InputStream> take_opened();
  /// False: stdin has not been read, and may hold something else.
  [[nodiscard]] bool is_whole() const;
  /// Keeps all of `input`, which is stdin, in a nameless file in `folder`. Errors: same as
  /// InputStream; Code::io.
  void keep(InputStream& input, const std::string& folder);
  /// What this process opens it by. Only if it is whole.
  [[nodiscard]] std::string path() const;

 private:
  mutable std::mutex mutex_;
  std::unique_ptr<InputStream> opened_;
  std::optional<NamelessFile> file_;
  bool is_whole_ = false;
};

/// A line of a list of files.
struct ListedLine {
  std::uint64_t number = 0;  ///< from 1
  std::string_view path;     ///< without "./" in front: raw bytes
  std::string_view label =
      {};  ///< behind the last tab, without blanks around it; empty: there is none
};

/// Reads a list of files, `path` or `path<TAB>label` each. `name`: of the list, for messages. Lines
/// end in LF or CRLF; or in NUL, if one is among the first bytes, as `find -print0` ends them:
/// paths may then have line ends. Blank lines are passed over, and so is a byte order mark in
/// front. Memory: 3 MiB. Errors: Code::bad_content, with the line, for a line of more than 1 MiB,
/// one without path, a NUL in a list of lines, and UTF-16; Code::io.
void read_listed_files(const std::string& path, const std::string& name,
                       const std::function<void()>& stop_if_asked,
                       const std::function<void(const ListedLine&)>& use);

/// The kind of input, as manifests name it.
inline constexpr std::string_view kFileList = "file list";

/// Keeps stdin, as it was opened, for open_list, if it begins like text. False: it may be an
/// archive, and only its beginning was peeked. Errors: same as StdinCopy::keep.
[[nodiscard]] bool keep_if_list(StdinCopy& copy, InputStream& input);

/// The files of a list (folders/listed_files) as samples, in its order: schema (image: bytes,
/// label: integer), without the label if no line has one; keys are the paths of the list. Integers
/// are labels as they are; names are those of a class table, made of them or given. The list is
/// read to its end at once, and each file's size is looked up. Errors: those of read_listed_files;
/// Code::not_found for a file that is not there; Code::bad_content, with its line, for a path that
/// comes twice, one that is not a regular file, an unknown class, and an empty list.
/// `path`: where the list is; `request.root`: its name, for messages. Of the request what is said
/// of folders, pairs, listings and columns means nothing.
[[nodiscard]] std::unique_ptr<OrderableSource> open_list(const std::string& path,
                                                         const FolderRequest& request);

}  // namespace shale
