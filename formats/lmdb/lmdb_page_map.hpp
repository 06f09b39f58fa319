#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace shale::lmdb {

/// One bit per page of a file: which are in use. Not thread-safe.
class PageMap {
 public:
  explicit PageMap(std::uint64_t pages) : bits_(pages) {}

  /// The first of these pages that was taken already; nullopt if they are taken now. They are pages
  /// of the file.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t page = first; page < first + count; ++page) {
      if (bits_[page]) return page;
    }
    std::fill_n(bits_.begin() + static_cast<std::ptrdiff_t>(first), count, true);
    taken_ += count;
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t pages() const { return bits_.size(); }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] std::uint64_t first_free() const {
    return static_cast<std::uint64_t>(std::find(bits_.begin(), bits_.end(), false) - bits_.begin());
  }

 private:
  std::vector<bool> bits_;
  std::uint64_t taken_ = 0;
};

}  // namespace shale::lmdb
