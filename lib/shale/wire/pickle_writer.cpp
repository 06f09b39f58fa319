#include "shale/wire/pickle_writer.hpp"

#include <limits>

#include "shale/base/error.hpp"

namespace shale {

PickleWriter::PickleWriter(std::uint8_t protocol) {
  opcode(0x80);
  opcode(protocol);
}

void PickleWriter::write_none() { opcode('N'); }

void PickleWriter::write_boolean(bool value) { opcode(value ? 0x88 : 0x89); }

void PickleWriter::write_integer(std::int64_t value) {
  if (value >= 0 && value <= std::numeric_limits<std::uint8_t>::max()) {
    opcode('K');
    out_.write(static_cast<std::uint8_t>(value));
  } else if (value >= 0 && value <= std::numeric_limits<std::uint16_t>::max()) {
    opcode('M');
    out_.write(static_cast<std::uint16_t>(value));
  } else if (value >= std::numeric_limits<std::int32_t>::min() &&
             value <= std::numeric_limits<std::int32_t>::max()) {
    opcode('J');
    out_.write(static_cast<std::int32_t>(value));
  } else {
    write_wide_integer(value);
  }
}

void PickleWriter::write_wide_integer(std::int64_t value) {
  opcode(0x8a);
  out_.write(std::uint8_t{8});
  out_.write(value);
}

void PickleWriter::write_text(std::string_view text) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error(Code::bug, "text of {} bytes in a pickle", text.size());
  opcode('X');
  out_.write(static_cast<std::uint32_t>(text.size()));
  out_.write_text(text);
}

void PickleWriter::begin_bytes(std::uint64_t length) {
  if (length <= std::numeric_limits<std::uint8_t>::max()) {
    opcode('C');
    out_.write(static_cast<std::uint8_t>(length));
  } else if (length <= std::numeric_limits<std::uint32_t>::max()) {
    opcode('B');
    out_.write(static_cast<std::uint32_t>(length));
  } else {
    throw Error(Code::limit, "pickle of protocol 3 holds less than 4 GiB in one value, not {}",
                length);
  }
}

void PickleWriter::mark() { opcode('('); }
void PickleWriter::end_tuple() { opcode('t'); }
void PickleWriter::end_tuple_of_2() { opcode(0x86); }
void PickleWriter::empty_tuple() { opcode(')'); }
void PickleWriter::empty_list() { opcode(']'); }
void PickleWriter::end_list() { opcode('e'); }
void PickleWriter::empty_dict() { opcode('}'); }
void PickleWriter::end_dict() { opcode('u'); }

void PickleWriter::global(std::string_view module, std::string_view name) {
  opcode('c');
  out_.write_text(module);
  out_.write_text("\n");
  out_.write_text(name);
  out_.write_text("\n");
}

void PickleWriter::call() { opcode('R'); }
void PickleWriter::persistent_id() { opcode('Q'); }
void PickleWriter::stop() { opcode('.'); }

}  // namespace shale
