#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "shale/io/file_stamp.hpp"

namespace shale {

/// What shale has written for other programs beside the tars of a folder, in DIR/.shale-native: so
/// that a run that was stopped continues where it was, and nothing is replaced that somebody else
/// wrote. It can be removed: then tars are walked again, and files with other content are refused.
///
///   shale-native 1\n, then a line per file, tabs between:
///   KIND  bytes and time of the tar  SAMPLES  MD5 or -  bytes and time of the index  NAME
/// KIND: wids, dali, energon, with the tar's NAME; file, with the NAME of a file about all of them.
class NativeJournal {
 public:
  struct Row {
    std::uint64_t tar_bytes = 0;
    std::int64_t tar_modified_ns = 0;
    std::uint64_t samples = 0;
    std::string md5 = "-";
    std::uint64_t bytes = 0;  ///< of the index
    std::int64_t modified_ns = 0;

    friend bool operator==(const Row&, const Row&) = default;
    [[nodiscard]] bool is_of(const FileStamp& tar) const {
      return tar.bytes == tar_bytes && tar.modified_ns == tar_modified_ns;
    }
    [[nodiscard]] bool wrote(const FileStamp& index) const {
      return index.bytes == bytes && index.modified_ns == modified_ns;
    }
  };

  /// Reads that of a folder, if there is one. Errors: Code::exists for a file of this name that is
  /// something else; Code::io.
  explicit NativeJournal(std::string folder);

  [[nodiscard]] const Row* find(std::string_view kind, const std::string& name) const;
  void set(std::string_view kind, const std::string& name, Row row);
  /// Replaces the file by what is known now, if that is anything new. Errors: Code::io.
  void save();
  /// The same, unless it was saved a few seconds ago.
  void save_now_and_then();

 private:
  std::string folder_;
  std::map<std::pair<std::string, std::string>, Row, std::less<>> rows_;
  std::int64_t saved_ns_ = 0;
  bool is_saved_ = true;
};

}  // namespace shale
