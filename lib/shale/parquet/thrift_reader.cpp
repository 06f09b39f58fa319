#include "shale/parquet/thrift_reader.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "shale/base/error.hpp"

namespace shale {
namespace {

// Real footers need 8: list, row group, list, chunk, metadata, list, struct.
constexpr int kMostDepth = 16;

}  // namespace

class ThriftReader::Level {
 public:
  explicit Level(ThriftReader& reader) : reader_(reader) {
    if (++reader_.depth_ > kMostDepth) reader_.fail("metadata is nested more than 16 levels deep");
  }
  ~Level() { --reader_.depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  ThriftReader& reader_;
};

void ThriftReader::fail(std::string_view message) const {
  throw Error(Code::damaged, "{}", message).at(where_, base_ + position_);
}

Bytes ThriftReader::take(std::uint64_t count) {
  if (count > bytes_.size() - position_) {
    ran_out_ = true;
    fail(fmt::format("metadata ends too early: {} bytes wanted, {} left", count,
                     bytes_.size() - position_));
  }
  const Bytes taken = bytes_.subspan(position_, count);
  position_ += count;
  return taken;
}

std::uint8_t ThriftReader::byte() { return static_cast<std::uint8_t>(take(1)[0]); }

std::uint64_t ThriftReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint64_t next = byte();
    if (shift == 63 && next > 1) break;
    value |= (next & 0x7f) << shift;
    if (next < 0x80) return value;
  }
  fail("a number of the metadata has more than 64 bits");
}

std::int64_t ThriftReader::zigzag() {
  const std::uint64_t coded = varint();
  return static_cast<std::int64_t>(coded >> 1 ^ (0 - (coded & 1)));
}

void ThriftReader::read_struct(std::string_view name, const UseField& use) {
  const Level level(*this);
  std::uint64_t seen = 0;  // a bit per field
  std::int32_t id = 0;
  while (true) {
    const std::uint8_t header = byte();
    const auto type = static_cast<ThriftType>(header & 15);
    if (type == ThriftType::stop) return;
    if (header >> 4 != 0) {
      id += header >> 4;
    } else {
      const std::int64_t read = zigzag();
      if (read < 0) fail(fmt::format("{} has a field numbered {}", name, read));
      id = static_cast<std::int32_t>(std::min<std::int64_t>(read, 1 << 20));
    }
    if (id > std::numeric_limits<std::int16_t>::max())
      fail(fmt::format("{} has a field numbered above 32767", name));
    if (id < 64) {
      const std::uint64_t bit = std::uint64_t{1} << id;
      if ((seen & bit) != 0) fail(fmt::format("field {} of {} is there twice", id, name));
      seen |= bit;
    }
    if (!use({.id = id, .type = type, .of = name})) skip(type, false);
  }
}

void ThriftReader::read_struct(const ThriftField& field, std::string_view name,
                               const UseField& use) {
  expect(field, ThriftType::structure);
  read_struct(name, use);
}

void ThriftReader::read_structs(const ThriftField& field, const std::function<void()>& read_one) {
  expect(field, ThriftType::list);
  const Level level(*this);
  const ListHeader list = list_header();
  if (list.count > 0 && list.type != ThriftType::structure)
    fail(fmt::format("field {} of {} is not a list of structs", field.id, field.of));
  for (std::uint64_t i = 0; i < list.count; ++i) read_one();
}

std::vector<std::int32_t> ThriftReader::read_numbers(const ThriftField& field) {
  expect(field, ThriftType::list);
  const ListHeader list = list_header();
  if (list.count > 0 && list.type != ThriftType::i32)
    fail(fmt::format("field {} of {} is not a list of numbers", field.id, field.of));
  std::vector<std::int32_t> numbers;
  for (std::uint64_t i = 0; i < list.count; ++i)
    numbers.push_back(read_i32({.id = field.id, .type = ThriftType::i32, .of = field.of}));
  return numbers;
}

void ThriftReader::expect(const ThriftField& field, ThriftType type) const {
  if (field.type == type) return;
  fail(fmt::format("field {} of {} has the type {}, expected {}", field.id, field.of,
                   static_cast<int>(field.type), static_cast<int>(type)));
}

std::int32_t ThriftReader::read_i32(const ThriftField& field) {
  expect(field, ThriftType::i32);
  const std::int64_t value = zigzag();
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max())
    fail(fmt::format("field {} of {} is {}, which is not a number of 32 bits", field.id, field.of,
                     value));
  return static_cast<std::int32_t>(value);
}

std::int64_t ThriftReader::read_i64(const ThriftField& field) {
  expect(field, ThriftType::i64);
  return zigzag();
}

std::uint8_t ThriftReader::read_i8(const ThriftField& field) {
  expect(field, ThriftType::i8);
  return byte();
}

bool ThriftReader::read_bool(const ThriftField& field) const {
  if (field.type != ThriftType::bool_false) expect(field, ThriftType::bool_true);
  return field.type == ThriftType::bool_true;
}

std::string_view ThriftReader::read_text(const ThriftField& field) {
  expect(field, ThriftType::binary);
  return as_text(take(varint()));
}

std::uint8_t ThriftReader::read_enum(const ThriftField& field) {
  const std::int32_t value = read_i32(field);
  if (value < 0 || value > 255)
    fail(fmt::format("field {} of {} is {}, which has no meaning", field.id, field.of, value));
  return static_cast<std::uint8_t>(value);
}

ThriftReader::ListHeader ThriftReader::list_header() {
  const std::uint8_t header = byte();
  const std::uint64_t count = header >> 4 == 15 ? varint() : header >> 4;
  // An element takes a byte at least.
  if (count > bytes_.size() - position_) {
    ran_out_ = true;
    fail(fmt::format("metadata has a list of {} elements, {} bytes left", count,
                     bytes_.size() - position_));
  }
  return {count, static_cast<ThriftType>(header & 15)};
}

void ThriftReader::skip(ThriftType type, bool in_list) {
  switch (type) {
    case ThriftType::bool_true:
    case ThriftType::bool_false:
      if (in_list) (void)byte();  // alone it is in its header
      return;
    case ThriftType::i8:
      (void)byte();
      return;
    case ThriftType::i16:
    case ThriftType::i32:
    case ThriftType::i64:
      (void)varint();
      return;
    case ThriftType::real:
      (void)take(8);
      return;
    case ThriftType::binary:
      (void)take(varint());
      return;
    case ThriftType::uuid:
      (void)take(16);
      return;
    case ThriftType::list:
    case ThriftType::set: {
      const Level level(*this);
      const ListHeader list = list_header();
      for (std::uint64_t i = 0; i < list.count; ++i) skip(list.type, true);
      return;
    }
    case ThriftType::map: {
      const Level level(*this);
      const std::uint64_t count = varint();
      if (count == 0) return;
      if (count > bytes_.size() - position_) (void)take(count);
      const std::uint8_t types = byte();
      for (std::uint64_t i = 0; i < count; ++i) {
        skip(static_cast<ThriftType>(types >> 4), true);
        skip(static_cast<ThriftType>(types & 15), true);
      }
      return;
    }
    case ThriftType::structure:
      return read_struct("a struct", [](const ThriftField&) { return false; });
    case ThriftType::stop:
      break;
  }
  fail(fmt::format("metadata has a value of the unknown type {}", static_cast<int>(type)));
}

}  // namespace shale
