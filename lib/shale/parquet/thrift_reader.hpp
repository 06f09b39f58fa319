#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"

// Thrift's compact protocol, as much of it as Parquet uses: a struct is a run of fields up to a
// zero byte, each a header (id as a difference, type) and a value; numbers are zigzag varints.
// Source: apache/thrift, doc/specs/thrift-compact-protocol.md.

namespace shale {

enum class ThriftType : std::uint8_t {
  stop = 0,
  bool_true = 1,
  bool_false = 2,
  i8 = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  real = 7,
  binary = 8,
  list = 9,
  set = 10,
  map = 11,
  structure = 12,
  uuid = 13,
};

struct ThriftField {
  std::int32_t id = 0;
  ThriftType type = ThriftType::stop;
  std::string_view of = {};  ///< the struct that it belongs to, for messages
};

/// Reads one struct out of untrusted bytes, with everything in it. At most 16 levels of structs and
/// lists, counts and lengths within the bytes left. The bytes are borrowed.
/// Errors, of all: Code::damaged with `where` and the offset.
class ThriftReader {
 public:
  /// `base` is the offset of the first byte in what `where` names.
  ThriftReader(Bytes bytes, std::string_view where, std::uint64_t base)
      : bytes_(bytes), where_(where), base_(base) {}

  /// Reads a field's value, and returns true; false if it is not wanted: then it is stepped over.
  using UseField = std::function<bool(const ThriftField&)>;
  /// The struct at this place. `name` is for messages, and outlives the call.
  void read_struct(std::string_view name, const UseField& use);
  /// A field that is a struct.
  void read_struct(const ThriftField& field, std::string_view name, const UseField& use);
  /// A field that is a list of structs: `read_one` is called for each, and reads it.
  void read_structs(const ThriftField& field, const std::function<void()>& read_one);
  /// A field that is a list of numbers of 32 bits.
  [[nodiscard]] std::vector<std::int32_t> read_numbers(const ThriftField& field);
  [[nodiscard]] std::int32_t read_i32(const ThriftField& field);
  [[nodiscard]] std::int64_t read_i64(const ThriftField& field);
  [[nodiscard]] std::uint8_t read_i8(const ThriftField& field);
  [[nodiscard]] bool read_bool(const ThriftField& field) const;
  [[nodiscard]] std::string_view read_text(const ThriftField& field);
  /// The number of an enumeration of at most 256 values.
  [[nodiscard]] std::uint8_t read_enum(const ThriftField& field);

  /// Bytes that were read so far.
  [[nodiscard]] std::uint64_t taken() const { return position_; }
  /// The last error was that the bytes ended: with more of them there might be none.
  [[nodiscard]] bool ran_out() const { return ran_out_; }
  /// At the byte that is read next.
  [[noreturn]] void fail(std::string_view message) const;

 private:
  class Level;
  std::uint8_t byte();
  std::uint64_t varint();
  std::int64_t zigzag();
  Bytes take(std::uint64_t count);
  void expect(const ThriftField& field, ThriftType type) const;
  struct ListHeader {
    std::uint64_t count;
    ThriftType type;
  };
  ListHeader list_header();
  void skip(ThriftType type, bool in_list);

  Bytes bytes_;
  std::string_view where_;
  std::uint64_t base_, position_ = 0;
  int depth_ = 0;
  bool ran_out_ = false;
};

}  // namespace shale
