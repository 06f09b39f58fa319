#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shale/base/blob.hpp"
#include "shale/base/bytes.hpp"

// tf.train.Example on the wire (proto3):
//   Example:  field 1 (0x0a) Features
//   Features: field 1 (0x0a), repeated: map entry {1: name string, 2: Feature}
//   Feature:  1 (0x0a) BytesList {1: bytes, repeated} | 2 (0x12) FloatList | 3 (0x1a) Int64List {1: packed varints}
// Source: tensorflow/core/example/{example,feature}.proto; ../shared/reference/formats.md section 3.2.

namespace shale {

/// One feature to write: a list of byte strings, or a list of integers.
struct Feature {
  std::string_view name;
  std::variant<std::vector<Bytes>, std::vector<std::int64_t>> value;
};

/// Where a feature's value came to lie, relative to the first byte of the Example.
struct FeaturePlace {
  std::uint64_t offset = 0;  ///< of the first element's first byte; of a list: of the first element's tag
  std::uint64_t length = 0;  ///< of the only element; of several: of the run of (tag, length, bytes)
};

/// Serialises an Example: byte lists are referred to, not copied. Features must come sorted by name (bytewise), so that
/// equal samples give equal bytes; an empty list of bytes is an empty BytesList.
/// `places[i]` belongs to features[i]: an element's bytes if it has exactly one and `framed[i]` is not set, else the run.
struct EncodedExample {
  Blob bytes;
  std::vector<FeaturePlace> places;
};
[[nodiscard]] EncodedExample encode_example(std::span<const Feature> features, std::span<const bool> framed);

/// One feature that was read: where its value lies, and its numbers. Offsets count as those of `view` do.
struct ParsedFeature {
  std::string name;
  enum class Type { none, bytes, floats, integers } type = Type::none;
  std::uint64_t count = 0;                         ///< elements
  std::uint64_t list_offset = 0, list_length = 0;  ///< body of the list message: tags, lengths and elements
  std::uint64_t first_offset = 0, first_length = 0;  ///< the first element of a BytesList
  std::vector<std::int64_t> integers;              ///< the first 64 of an Int64List
};

/// Gives the bytes [offset, offset + length) of what is parsed; a view may end at the next call.
using ViewBytes = std::function<Bytes(std::uint64_t offset, std::uint64_t length)>;

/// Parses the Example at [begin, begin + length): both packings, any order, unknown fields skipped, repeated names kept as
/// they come. Looks at tags, names and numbers only: the elements of a BytesList are stepped over, not read.
/// Memory: bounded by names (each at most 64 KiB) and features, not by elements.
/// Errors: Code::damaged with `where` and the offset.
[[nodiscard]] std::vector<ParsedFeature> parse_example(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                                                       std::string_view where);

}  // namespace shale
