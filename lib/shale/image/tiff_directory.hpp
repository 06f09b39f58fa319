#pragma once

#include <cstdint>
#include <optional>

#include "shale/base/bytes.hpp"
#include "shale/image/header_view.hpp"

namespace shale {

/// A directory (IFD) of a TIFF, BigTIFF or EXIF block: numbers by tag. The bytes are
/// borrowed and untrusted. Errors: none; what lies outside of the bytes is absent.
class TiffDirectory {
 public:
  /// One tag's values: `count` numbers of `width` bytes from byte `offset` on.
  struct Values {
    std::uint64_t offset = 0, count = 0;
    unsigned width = 0;
  };

  explicit TiffDirectory(Bytes tiff);
  /// The directory at byte `begin`.
  TiffDirectory(Bytes tiff, std::uint64_t begin);

  /// Where the directory and the values of its public tags say they end: beyond the bytes' end if
  /// they are cut. Private tags do not count, no reader of pixels needs them.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// The values of `tag` (integers only); nullopt if it is absent. They may lie beyond the bytes'
  /// end.
  [[nodiscard]] std::optional<Values> find(unsigned tag) const;
  [[nodiscard]] std::uint64_t value(const Values& values, std::uint64_t nth) const;
  /// True if another directory behind it is a page of its own, no smaller copy of it and no mask.
  [[nodiscard]] bool has_more_pages() const;
  /// The first value of `tag`, or `otherwise`.
  [[nodiscard]] std::uint64_t number(unsigned tag, std::uint64_t otherwise) const;

 private:
  struct Entry {
    unsigned tag = 0;
    bool is_unsigned = false;
    Values values;
  };
  [[nodiscard]] Entry read_entry(std::uint64_t nth) const;

  HeaderView view_;
  bool is_big_;
  Bytes tiff_;
  std::uint64_t first_entry_ = 0, entries_ = 0, end_ = 0;
  std::uint64_t next_ = 0;  ///< directory, 0: none
};

}  // namespace shale
