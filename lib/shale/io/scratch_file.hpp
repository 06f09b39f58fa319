#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "shale/base/bytes.hpp"

namespace shale {

/// An append-only scratch file without a name: gone when it is closed or the process dies, whatever
/// kills it. Thread-safe: reads may run in any thread, also while another one appends.
class ScratchFile {
 public:
  /// Made in `directory`. Errors: Code::io.
  explicit ScratchFile(const std::string& directory);
  ~ScratchFile();
  ScratchFile(ScratchFile&&) noexcept;
  ScratchFile& operator=(ScratchFile&&) noexcept;

  [[nodiscard]] std::uint64_t size() const;
  /// Buffered (256 KiB, taken with the first byte). Errors: Code::io; a full disk says so.
  void append(Bytes bytes);
  /// Reads what was appended. Errors: Code::io, Code::bug past size().
  void read_exact(std::uint64_t offset, std::span<std::byte> into);
  /// Empties it, and gives the disk and the buffer back. Errors: Code::io.
  void clear();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shale
