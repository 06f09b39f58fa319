#pragma once

#include <cstdint>
#include <string>

#include "shale/io/input_file.hpp"

namespace shale {

/// An open file that many samples lie in, and what it was when its contents were listed.
/// Thread-safe.
class ArchiveFile {
 public:
  /// Errors: same as InputFile.
  explicit ArchiveFile(std::string path);

  [[nodiscard]] const InputFile& file() const { return file_; }
  /// Since 1970, when it was opened.
  [[nodiscard]] std::int64_t modified_ns() const { return modified_ns_; }
  /// In words: where it is, its size and time, and a hash of its first and last bytes.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }
  /// To be called after a read, before what was read is believed. Errors: Code::mismatch if
  /// somebody has written to the file since it was opened; Code::io.
  void refuse_changes() const;

 private:
  InputFile file_;
  std::int64_t modified_ns_ = 0;
  std::string fingerprint_;
};

}  // namespace shale
