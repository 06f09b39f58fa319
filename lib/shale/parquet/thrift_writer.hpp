#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/parquet/thrift_reader.hpp"

namespace shale {

/// Writes structs in Thrift's compact protocol, as thrift_reader.hpp describes it. Fields of a
/// struct come in ascending order of their ids.
class ThriftWriter {
 public:
  ThriftWriter() : last_ids_{0} {}

  void i8(std::int32_t id, std::uint8_t value);
  void i16(std::int32_t id, std::int16_t value);
  void i32(std::int32_t id, std::int32_t value);
  void i64(std::int32_t id, std::int64_t value);
  void text(std::int32_t id, std::string_view value);
  void flag(std::int32_t id, bool value);

  /// A field that is a struct; its fields follow, up to end().
  void begin(std::int32_t id);
  /// The same with nothing in it.
  void empty(std::int32_t id);
  /// An element of a list of structs.
  void begin_element() { last_ids_.push_back(0); }
  /// Of a struct, of the outermost too.
  void end();

  /// A field that is a list; its elements follow.
  void list(std::int32_t id, ThriftType of, std::uint64_t count);
  void element_i32(std::int32_t value);
  void element_i64(std::int64_t value);
  void element_text(std::string_view value);
  void element_flag(bool value);

  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] std::vector<std::byte> take() { return bytes_.take(); }

 private:
  void field(std::int32_t id, ThriftType type);
  void zigzag(std::int64_t value);

  ByteWriter bytes_;
  std::vector<std::int32_t> last_ids_;  // of each struct that has begun
};

}  // namespace shale
