#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace shale {

/// Sorts any number of byte strings, bytewise, in a fixed memory budget: what does not fit is
/// written as sorted runs to a scratch file in `directory`, and merged as it is read. Equal strings
/// come out in the order they went in. Each entry costs 24 bytes of the budget besides its own;
/// memory is touched only as it fills. O(n log n) comparisons; each string is written and read at
/// most once per merge level. Not thread-safe.
class ExternalSorter {
 public:
  /// Less than 1 MiB of memory is taken as 1 MiB. `directory` must exist if anything is spilled; it
  /// is not touched otherwise.
  ExternalSorter(std::string directory, std::uint64_t memory_bytes);
  ~ExternalSorter();
  ExternalSorter(ExternalSorter&&) noexcept;
  ExternalSorter& operator=(ExternalSorter&&) noexcept;

  /// A string of at most 1 MiB and a sixteenth of the memory, so that runs can be merged within it.
  /// Errors: Code::io; Code::limit with both numbers.
  void add(std::string_view entry);
  [[nodiscard]] std::uint64_t count() const;

  /// No more add() after it. Call before next(). Errors: Code::io.
  void finish();
  /// The entries in order, then nullopt. A view is valid until the next call. Errors: Code::io.
  [[nodiscard]] std::optional<std::string_view> next();
  /// Starts again at the first entry.
  void rewind();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shale
