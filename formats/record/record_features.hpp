#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/wire/tf_example.hpp"

// What writer and scanners of this format agree on: FORMAT.md, "features" and "files of other
// tools".

namespace shale {

/// protobuf keeps the size of a message in an int.
inline constexpr std::uint64_t kMaxExampleBytes = 0x7fff'ffff;

/// The features that are the key in files of other tools, the first before the second.
inline constexpr std::string_view kKeyFeature = "key", kOtherKeyFeature = "__key__";

/// Behind the name of a tensor's feature: those of the features with its dtype and its shape.
inline constexpr std::string_view kDTypeSuffix = "/dtype", kShapeSuffix = "/shape";

/// What one feature of an Example stands for.
struct PlannedFeature {
  enum class Role { key, value, dtype, shape };
  std::string name;
  Role role = Role::key;
  std::size_t field = 0;  ///< in the schema; means nothing for the key
};

/// The dtype of what lies in a FloatList.
inline constexpr std::string_view kFloatDType = "<f4";

/// True for what is a FloatList: reals of 32 bits, and ragged tensors of them.
[[nodiscard]] bool is_of_floats(const Field& field);

/// The features of every Example of this schema, sorted bytewise by name. Those of an optional
/// field are left out of the Examples that lack its value.
[[nodiscard]] std::vector<PlannedFeature> plan_features(const Schema& schema);

/// True for a FloatList that lies in the file as an array of its floats.
[[nodiscard]] inline bool is_contiguous(const ParsedFeature& floats) {
  return floats.first_length == sizeof(float) * floats.count;
}

/// "BytesList", "FloatList", "Int64List"; "no value".
[[nodiscard]] std::string_view list_name_of(ParsedFeature::Type type);

/// The checksums of a payload and of the places in it, from one pass over its bytes.
class PayloadChecksum {
 public:
  /// `places` ascend, do not overlap and count from the same zero as `begin`, where the payload
  /// begins; their crc32c is filled in by update(). Borrowed.
  PayloadChecksum(std::span<FieldPlace> places, std::uint64_t begin)
      : places_(places), position_(begin) {}

  /// The next bytes of the payload.
  void update(Bytes bytes);
  /// The same for bytes that are known by their number and their crc32c; no place begins or ends
  /// inside of them.
  void update(std::uint64_t bytes, std::uint32_t crc32c);
  /// The crc32c (not masked) of all bytes, once they have all been given.
  [[nodiscard]] std::uint32_t total() const { return total_; }

 private:
  [[nodiscard]] std::uint64_t end_of(const FieldPlace& place) const {
    return place.offset + place.length;
  }

  std::span<FieldPlace> places_;
  std::size_t next_ = 0;  // the place that is being read, or comes next
  std::uint64_t position_;
  std::uint32_t total_ = 0;
};

}  // namespace shale
