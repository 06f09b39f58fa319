#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shale/arrays/array_file.hpp"
#include "shale/base/events.hpp"
#include "shale/data/array_text.hpp"
#include "shale/io/nameless_file.hpp"

namespace shale {

/// Writes an .npy file of row numbers, u64. Errors: Code::io.
class RowNumbersFile {
 public:
  /// `count` are to come.
  RowNumbersFile(const NamelessFile& file, std::uint64_t count);

  void add(std::uint64_t row);
  /// After the last one.
  void flush();

 private:
  const NamelessFile& file_;
  std::vector<std::byte> piece_;
  std::uint64_t offset_ = 0;
};

/// An .npy file of one axis whose elements are plain numbers of at most 8 bytes, in either byte
/// order. Thread-safe.
class NumberFile {
 public:
  enum class Kind { boolean, signed_integer, unsigned_integer, real };

  /// Errors: same as open_arrays; Code::unsupported for an archive; Code::schema for more axes than
  /// one, and for a dtype other than bool, integers, and floats of 2, 4 and 8 bytes.
  explicit NumberFile(const std::string& path);

  [[nodiscard]] const std::string& path() const { return array_.file->path(); }
  [[nodiscard]] std::string dtype_name() const { return dtype_text(array_.dtype); }
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::uint64_t item_bytes() const { return array_.dtype.item_bytes(); }
  [[nodiscard]] std::uint64_t count() const { return array_.shape[0]; }
  /// Of number i, in the file.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t i) const {
    return array_.data_offset + i * item_bytes();
  }

  /// The numbers [first, first + into.size()), which must be there: signed integers in two's
  /// complement of 64 bits, the rest as their own bits, with zeros above.
  /// Errors: Code::io; Code::damaged if the file has shrunk since it was opened.
  void read(std::uint64_t first, std::span<std::uint64_t> into) const;

  using Visit = std::function<void(std::uint64_t first, std::span<const std::uint64_t> numbers)>;
  /// All numbers as `read` gives them, in order, 64 KiB of them at a time; `events` is asked in
  /// between whether to stop. Errors: same as read; Code::interrupted; what `visit` throws.
  void walk(const Events& events, const Visit& visit) const;

 private:
  ArrayFile array_;
  Kind kind_;
};

}  // namespace shale
