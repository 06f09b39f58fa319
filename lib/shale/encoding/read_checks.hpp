#pragma once

#include <cstdint>
#include <string>

#include "shale/format/source.hpp"
#include "shale/io/batch_reader.hpp"

namespace shale {

/// One value of a sample that was read, or one element of a list; all is borrowed.
struct ValueRead {
  const std::string& key;             ///< of the sample
  std::uint64_t number;               ///< of the sample
  std::uint64_t bytes;                ///< that it had when it was listed
  const std::string* path = nullptr;  ///< of a small file; null: it lies in an open file
  int descriptor = -1;
  std::uint64_t offset = 0;
};
/// Errors: Code::io naming the sample for a file that cannot be read, has gone, shrunk or grown.
void check_read(const ValueRead& value, const ReadResult& result);

/// Of a file that was listed by a run before: its size and its time must still be those. Errors:
/// Code::mismatch naming the file.
void check_listed(const std::string& path, std::uint64_t bytes, std::int64_t modified_ns,
                  std::uint64_t number);

/// The error for a value whose crc32c is not the one that it was written with.
[[nodiscard]] Error wrong_value(const ValueRead& value, std::uint32_t found,
                                std::uint32_t expected);

}  // namespace shale
