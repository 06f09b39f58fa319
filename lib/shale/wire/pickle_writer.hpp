#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

/// Emits a pickle, opcode by opcode, in the order in which Python's pickler does: a value, or its
/// parts and then what joins them. It keeps nothing in the memo. The layout of the opcodes is in
/// pickle_reader.hpp.
class PickleWriter {
 public:
  /// `protocol` is 2, or 3 for pickles that hold bytes.
  explicit PickleWriter(std::uint8_t protocol);

  void write_none();
  void write_boolean(bool value);
  void write_integer(std::int64_t value);
  /// In eight bytes, whatever its value.
  void write_wide_integer(std::int64_t value);
  void write_text(std::string_view text);
  /// What precedes so many bytes, which the caller puts behind it.
  void begin_bytes(std::uint64_t length);

  void mark();
  void end_tuple();       ///< of all values after the mark
  void end_tuple_of_2();  ///< of the last two values
  void empty_tuple();
  void empty_list();
  void end_list();  ///< puts all values after the mark into the list in front of it
  void empty_dict();
  void end_dict();  ///< the same of keys and values in turn

  void global(std::string_view module, std::string_view name);
  void call();           ///< the last but one value with the last one, a tuple, as its arguments
  void persistent_id();  ///< of the last value
  void stop();

  /// What was written since the last call.
  [[nodiscard]] std::vector<std::byte> take() { return out_.take(); }

 private:
  void opcode(std::uint8_t code) { out_.write(code); }

  ByteWriter out_;
};

}  // namespace shale
