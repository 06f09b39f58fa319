#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shale/base/blob.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/unread_bytes.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/shard_index.hpp"

// tf.train.Example on the wire (proto3):
//   Example:  field 1 (0x0a) Features
//   Features: field 1 (0x0a), repeated: map entry {1: name string, 2: Feature}
//   Feature:  1 (0x0a) BytesList {1: bytes, repeated} | 2 (0x12) FloatList | 3 (0x1a) Int64List {1:
//   packed varints}
// Source: tensorflow/core/example/{example,feature}.proto;
// protobuf.dev, "Encoding".

namespace shale {

/// One feature to write. Its value: Bytes (or Unread) is a BytesList of exactly one element, a span
/// of them a BytesList of any number, a span of integers an Int64List, floats a FloatList. All but
/// Unread is borrowed.
struct PackedFloats {
  AnyBytes bytes;  ///< little-endian, 4 each
};
struct Feature {
  std::string_view name;
  std::variant<Bytes, std::span<const Bytes>, std::span<const std::int64_t>, Unread,
               std::span<const Unread>, PackedFloats>
      value;
  bool is_copied = false;  ///< the bytes will not outlive the blob
};

/// Elements of up to this many bytes are copied even so: a borrowed piece costs more than they do.
inline constexpr std::uint64_t kCopiedElementBytes = 256;

/// Bytes of the Example that append_example makes of these features.
[[nodiscard]] std::uint64_t example_bytes(std::span<const Feature> features);

/// Serialises an Example at the end of `out`; large elements are referred to, not copied. Features
/// must come sorted by name (bytewise), so that equal samples give equal bytes; an empty list is a
/// list message without elements. Returns where each feature's value lies, relative to the first
/// byte of the Example (crc32c is left 0): a single element's bytes; of a list the run of (0x0a,
/// length, bytes) of its elements, with their count; of integers the run of packed varints, of
/// floats their bytes. `reused`: places that are not needed any more, for their memory.
std::vector<FieldPlace> append_example(std::span<const Feature> features, Blob& out,
                                       std::vector<FieldPlace> reused = {});

/// One feature that was read: where its value lies, and its numbers. Offsets count as those of
/// `view` do.
struct ParsedFeature {
  std::string name;
  enum class Type { none, bytes, floats, integers } type = Type::none;
  std::uint64_t count = 0;  ///< elements
  std::uint64_t list_offset = 0,
                list_length = 0;  ///< body of the list message: tags, lengths and elements
  std::uint64_t first_offset = 0, first_length = 0;  ///< the first element of a BytesList; the
                                                     ///< first run of a FloatList that is not empty
  std::vector<std::int64_t> integers;                ///< the first 64 of an Int64List
};

/// What parse_example takes at most: it bounds the memory that a hostile Example can ask for.
inline constexpr std::uint64_t kMaxFeatures = 8'192, kMaxFeatureNameBytes = 65'536;
inline constexpr std::uint64_t kMaxFeatureNamesBytes = 1 << 20;  ///< of all names together

/// Errors: Code::damaged, with `where` and the offset, for a size that no packed floats have.
void check_packed_floats(std::uint64_t bytes, std::string_view where, std::uint64_t offset);

/// Parses the Example at [begin, begin + length): both packings, any order, unknown fields skipped
/// (but not inside a list, whose body is an extent of the index), repeated names kept as they come.
/// Looks at tags, names and numbers only, at most 64 bytes at a time: the elements of a BytesList
/// are stepped over. Memory: 8 MiB at most, whatever the bytes say. Errors: Code::damaged with
/// `where` and the offset; Code::limit beyond the limits above; Code::unsupported for a feature
/// whose value is written in several pieces, by name, and for the feature lists of a
/// tf.train.SequenceExample; what `view` throws.
[[nodiscard]] std::vector<ParsedFeature> parse_example(const ViewBytes& view, std::uint64_t begin,
                                                       std::uint64_t length,
                                                       std::string_view where);

}  // namespace shale
