#include "shale/parquet/thrift_writer.hpp"

namespace shale {

void ThriftWriter::i8(std::int32_t id, std::uint8_t value) {
  field(id, ThriftType::i8);
  bytes_.write(value);
}

void ThriftWriter::i16(std::int32_t id, std::int16_t value) {
  field(id, ThriftType::i16);
  zigzag(value);
}

void ThriftWriter::i32(std::int32_t id, std::int32_t value) {
  field(id, ThriftType::i32);
  zigzag(value);
}

void ThriftWriter::i64(std::int32_t id, std::int64_t value) {
  field(id, ThriftType::i64);
  zigzag(value);
}

void ThriftWriter::text(std::int32_t id, std::string_view value) {
  field(id, ThriftType::binary);
  element_text(value);
}

void ThriftWriter::flag(std::int32_t id, bool value) {
  field(id, value ? ThriftType::bool_true : ThriftType::bool_false);
}

void ThriftWriter::begin(std::int32_t id) {
  field(id, ThriftType::structure);
  begin_element();
}

void ThriftWriter::empty(std::int32_t id) {
  begin(id);
  end();
}

void ThriftWriter::end() {
  last_ids_.pop_back();
  bytes_.write(std::uint8_t{0});
}

void ThriftWriter::list(std::int32_t id, ThriftType of, std::uint64_t count) {
  constexpr std::uint64_t kLong = 15;
  field(id, ThriftType::list);
  const auto type = static_cast<std::uint8_t>(of);
  bytes_.write(static_cast<std::uint8_t>((count < kLong ? count : kLong) << 4 | type));
  if (count >= kLong) bytes_.write_varint(count);
}

void ThriftWriter::element_i32(std::int32_t value) { zigzag(value); }

void ThriftWriter::element_i64(std::int64_t value) { zigzag(value); }

void ThriftWriter::element_text(std::string_view value) {
  bytes_.write_varint(value.size());
  bytes_.write_text(value);
}

void ThriftWriter::element_flag(bool value) { bytes_.write(std::uint8_t(value ? 1 : 2)); }

void ThriftWriter::field(std::int32_t id, ThriftType type) {
  constexpr std::int32_t kLargestStep = 15;
  std::int32_t& last = last_ids_.back();
  const std::int32_t step = id - last;
  last = id;
  if (step > 0 && step <= kLargestStep) {
    bytes_.write(static_cast<std::uint8_t>(step << 4 | static_cast<int>(type)));
    return;
  }
  bytes_.write(static_cast<std::uint8_t>(type));
  zigzag(id);
}

void ThriftWriter::zigzag(std::int64_t value) {
  bytes_.write_varint(static_cast<std::uint64_t>(value) << 1 ^
                      static_cast<std::uint64_t>(value >> 63));
}

}  // namespace shale
