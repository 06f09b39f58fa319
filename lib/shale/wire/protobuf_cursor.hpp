#pragma once

#include <cstdint>
#include <string_view>

#include "shale/base/bytes.hpp"
#include "shale/base/view_bytes.hpp"

// Protocol buffers on the wire: a message is a run of fields, each a tag (field number << 3 | wire
// type) and a value. Source: protobuf.dev, "Encoding".

namespace shale {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

/// One field of a message. Offsets count as those of the view do.
struct WireField {
  std::uint64_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t offset = 0;          ///< of the tag
  std::uint64_t begin = 0, end = 0;  ///< the value without its length

  [[nodiscard]] bool is_message(std::uint64_t wanted) const {
    return number == wanted && type == WireType::delimited;
  }
  [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

/// Reads tags and numbers, at most 64 bytes at a time; other values are stepped over.
class ProtobufCursor {
 public:
  /// Of a message that lies in front of `end`. `view` and `where` are borrowed.
  ProtobufCursor(const ViewBytes& view, std::uint64_t end, std::string_view where)
      : view_(view), end_(end), where_(where) {}

  struct Varint {
    std::uint64_t value, end;
  };
  /// Errors, of both: Code::damaged with `where` and the offset; what the view throws.
  [[nodiscard]] Varint read_varint(std::uint64_t offset, std::uint64_t end);
  /// A field that ends by `end`.
  [[nodiscard]] WireField read_field(std::uint64_t offset, std::uint64_t end);
  /// A value's bytes, valid until the next call.
  [[nodiscard]] Bytes bytes_of(const WireField& field);

  template <class Use>
  void for_each_field(std::uint64_t begin, std::uint64_t end, Use use) {
    while (begin < end) {
      const WireField field = read_field(begin, end);
      begin = field.end;
      use(field);
    }
  }

 private:
  static constexpr std::uint64_t kLookAhead = 64;
  Bytes peek(std::uint64_t offset, std::uint64_t end);
  void see(std::uint64_t begin, std::uint64_t end);

  const ViewBytes& view_;
  std::uint64_t end_;
  std::string_view where_;
  Bytes seen_;  // what view_ gave last
  std::uint64_t seen_begin_ = 0;
};

}  // namespace shale
