#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "shale/io/input_file.hpp"

namespace shale {

struct ReadRequest;  // io/batch_reader.hpp

/// An open file that many samples lie in, and what it was when its contents were listed.
/// Thread-safe.
class ArchiveFile {
 public:
  /// `stays_open`: false for one of more archives than may be open at once, which each read then
  /// opens. Errors: same as InputFile.
  explicit ArchiveFile(std::string path, bool stays_open = true);

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

/// Where a file lies in an archive, and how.
struct ArchivedFile {
  std::shared_ptr<const ArchiveFile> archive = nullptr;  ///< null: it is a file of its own
  std::uint64_t offset = 0;
  std::uint64_t packed_bytes = 0;  ///< that it takes there, deflated; 0: it lies there as it is
  std::optional<std::uint32_t> crc32 = {};  ///< of the file itself, if the archive has it
};

/// Reads of it; how many bytes is still to be said.
[[nodiscard]] ReadRequest request_of(const ArchivedFile& file);

/// Fills `into`, which is no longer than the file, with its first bytes; returns how many there
/// are, which is fewer where the archive is damaged. Nothing is proved. Errors: Code::io.
[[nodiscard]] std::size_t read_beginning(const ArchivedFile& file, std::span<std::byte> into);

}  // namespace shale
