#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/decoder.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// Why the fields of values cannot be located in them.
struct ValuePacking {
  enum class Contents : std::uint8_t { other, pickles, json, maps };

  Packing packing = Packing::none;
  bool is_block = false;  ///< LZ4 without a frame; `packing` is then none
  Contents contents = Contents::other;

  [[nodiscard]] bool is_compressed() const { return is_block || packing != Packing::none; }
  [[nodiscard]] bool is_any() const {
    return contents == Contents::json || (is_compressed() && contents != Contents::other);
  }
  /// "pickles that are compressed with gzip", "JSON".
  [[nodiscard]] std::string what_values_are() const;
};
/// How the values of a database are packed, by the first one that does not describe the file: a
/// file that is damaged on the way to it has other contents. Errors: Code::io.
[[nodiscard]] ValuePacking packing_of_values(const InputFile& file, std::string_view database);

/// Writes the entries of an LMDB file with values that are compressed one by one (gzip, zlib, zstd,
/// LZ4) into another, decompressed, and as msgpack maps those that are JSON, or dicts of pickle or
/// msgpack with lists of numbers, which are arrays there: see Format::unpack. Nullopt: their
/// contents are nothing that is known, or lie in them as they are to be. What is short and not
/// compressed, such as a count, stays as it is. Memory: a value, at most a quarter of the memory.
/// Errors: Code::limit for one that is larger; Code::unsupported for another value that is not
/// compressed; Code::damaged.
[[nodiscard]] std::optional<UnpackReport> unpack_lmdb_file(const UnpackRequest& request);

}  // namespace shale
