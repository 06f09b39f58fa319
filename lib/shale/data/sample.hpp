#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/unread_bytes.hpp"
#include "shale/data/schema.hpp"

namespace shale {

/// The value of one field: Bytes for bytes, text and tensor (C order, little-endian), int64 for
/// integer, double for real, a list of Bytes for list; monostate for a value that is absent. All
/// bytes are borrowed. Of a sample that is too large to be held, Unread instead of Bytes: then all
/// elements of a list are.
using Value = std::variant<Bytes, std::int64_t, double, std::vector<Bytes>, std::monostate, Unread,
                           std::vector<Unread>>;

/// The value of a field of kind bytes, text or tensor.
[[nodiscard]] AnyBytes run_of(const Value& value);
[[nodiscard]] inline bool is_list(const Value& value) {
  return std::holds_alternative<std::vector<Bytes>>(value) ||
         std::holds_alternative<std::vector<Unread>>(value);
}
/// Those of a list.
[[nodiscard]] std::uint64_t count_elements(const Value& list);
[[nodiscard]] AnyBytes element_of(const Value& list, std::uint64_t number);

/// One sample: a key and a value for each field of the schema, in its order.
/// The bytes its values point at belong to whoever read them and must outlive the sample.
struct Sample {
  std::string key;  ///< raw bytes; the relative path by default
  std::vector<Value> values;
  std::vector<std::uint64_t> sides = {};  ///< of its ragged tensors, as ShapeWalk has them
};

/// Bytes of a value's content: of all elements of a list, none of a number.
[[nodiscard]] std::uint64_t payload_bytes_of(const Value& value);

/// Errors: Code::schema, naming field and sample: another number of values, another kind, a tensor
/// of another size or shape, text that is not UTF-8, JSON that does not parse; a value that is
/// absent, unless the field is optional or `may_lack_values`; Code::limit for a shape of more than
/// 2^63 bytes.
void check_sample(const Sample& sample, const Schema& schema, bool may_lack_values = false);

}  // namespace shale
