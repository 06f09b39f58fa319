#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// What a dataset of variable length holds for one element.
struct Hdf5HeapReference {
  std::uint64_t length = 0;      ///< elements, one byte each
  std::uint64_t collection = 0;  ///< where its collection begins in the file
  std::uint32_t object = 0;      ///< its number there
};

/// Finds values of variable length in the global heap of an HDF5 file by small preads, without the
/// library and without touching the values. Keeps the tables of the last few collections; memory at
/// most 8 MiB. Not thread-safe.
/// Time: bounded by the file's size; Code::limit beyond that, for references that jump between huge
/// collections.
/// Source: HDF5 File Format Specification 3.0, III.E "Global Heap"; the byte map is in
/// hdf5_heap.cpp.
class Hdf5Heap {
 public:
  explicit Hdf5Heap(const InputFile& file) : file_(file), window_(file, kWindowBytes) {}

  /// The offset of the value in the file; `reference.length` bytes from there lie inside the
  /// object and the file. Errors: Code::damaged, with offset, for anything else.
  [[nodiscard]] std::uint64_t place_of(const Hdf5HeapReference& reference);

 private:
  struct Object {
    std::uint64_t offset = 0, length = 0;
    std::uint16_t number = 0;
  };
  struct Collection {
    std::uint64_t address = 0;
    std::vector<Object> objects;  // by number
  };

  const Collection& collection_at(std::uint64_t address);
  void forget_old();
  [[nodiscard]] Collection read_collection(std::uint64_t address);
  [[nodiscard]] Error damage(std::uint64_t address, std::string message) const;

  // Values are skipped: a window of a page reads little more than the tables.
  static constexpr std::uint64_t kWindowBytes = 4096;

  const InputFile& file_;
  WindowReader window_;
  std::deque<Collection> recent_;  // the last used first
  std::size_t recent_objects_ = 0;
  std::uint64_t walked_objects_ = 0;
};

}  // namespace shale
