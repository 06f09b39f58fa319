#pragma once

#include <cstdint>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/io/input_file.hpp"
#include "shale/trees/hdf5_description.hpp"
#include "shale/trees/hdf5_values.hpp"

namespace shale {

/// Values of variable length. The library says where they are, and shale reads them there: version
/// 1.10 does not check that the global heap has the object that a reference names, and hands out
/// what it finds in its memory, an empty string or another value. Only for a child process that has
/// nothing to lose (hdf5_probe.hpp); `opened` and the type are the library's hid_t.
class Hdf5Sequences {
 public:
  static constexpr std::uint64_t kReferenceBytes = 16;

  /// `is_strict`: of a file that may be damaged.
  Hdf5Sequences(const InputFile& file, std::int64_t opened, bool is_strict = false);

  /// Whether the file's references are of the one size that is read.
  [[nodiscard]] bool can_read() const { return has_usual_sizes_; }
  /// What addresses in the file count from.
  [[nodiscard]] std::uint64_t base_address() const { return base_address_; }
  /// The type to read a dataset, an attribute or a member of variable length as: its references.
  /// The caller closes it.
  [[nodiscard]] static std::int64_t type_of_references();
  /// The value of a reference, numbers little-endian, strings up to their NUL; `of` is what it is
  /// an element of. Errors: Code::damaged, with the offset, for one that leads nowhere; Code::limit
  /// for more than `most_bytes`; Code::io.
  [[nodiscard]] std::vector<std::byte> at(Bytes reference, const Hdf5Dataset& of,
                                          std::uint64_t most_bytes);

 private:
  const InputFile& file_;
  Hdf5Heap heap_;
  std::uint64_t base_address_ = 0;
  bool is_strict_, has_usual_sizes_ = false;
};

}  // namespace shale
