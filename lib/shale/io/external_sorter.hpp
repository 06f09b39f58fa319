#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/bytes.hpp"

namespace shale {

/// An append-only scratch file without a name: gone when it is closed or the process dies, whatever kills it.
/// Not thread-safe for append; reads may run in any thread.
class ScratchFile {
 public:
  /// Made in `directory`. Errors: Code::io.
  explicit ScratchFile(const std::string& directory);
  ~ScratchFile();
  ScratchFile(ScratchFile&&) noexcept;
  ScratchFile& operator=(ScratchFile&&) noexcept;

  [[nodiscard]] std::uint64_t size() const;
  /// Buffered (256 KiB). Errors: Code::io; a full disk says so.
  void append(Bytes bytes);
  /// Reads what was appended. Errors: Code::io, Code::bug past size().
  void read_exact(std::uint64_t offset, std::span<std::byte> into);
  void clear();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Sorts any number of byte strings, bytewise, in a fixed memory budget: what does not fit is written as sorted runs
/// to scratch files in `directory`, and merged as it is read. Equal strings come out in the order they went in.
/// O(n log n) comparisons; each string is written and read at most twice per merge level.
class ExternalSorter {
 public:
  /// `memory_bytes` >= 1 MiB. `directory` must exist if anything is spilled; it is not touched otherwise.
  ExternalSorter(std::string directory, std::uint64_t memory_bytes);
  ~ExternalSorter();
  ExternalSorter(ExternalSorter&&) noexcept;
  ExternalSorter& operator=(ExternalSorter&&) noexcept;

  /// A string of at most 1 MiB. Errors: Code::io, Code::limit.
  void add(std::string_view entry);
  [[nodiscard]] std::uint64_t count() const;

  /// No more add() after it. Call before next().
  void finish();
  /// The entries in order, then nullopt. A view is valid until the next call.
  [[nodiscard]] std::optional<std::string_view> next();
  /// Starts again at the first entry.
  void rewind();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shale
