#include "shale/layouts/msgpack_text.hpp"

#include <bit>

namespace shale::layouts {
namespace {

// Big-endian.
void append_tagged(unsigned char tag, std::uint64_t number, int bytes, std::string& into) {
  into += static_cast<char>(tag);
  for (int at = bytes - 1; at >= 0; --at) into += static_cast<char>(number >> (8 * at) & 0xff);
}

}  // namespace

void append_map(std::size_t entries, std::string& into) { append_tagged(0xdf, entries, 4, into); }

void append_array(std::size_t values, std::string& into) { append_tagged(0xdd, values, 4, into); }

void append_text(std::string_view text, std::string& into) {
  append_tagged(0xdb, text.size(), 4, into);
  into += text;
}

void append_bytes(std::string_view bytes, std::string& into) {
  append_tagged(0xc6, bytes.size(), 4, into);
  into += bytes;
}

void append_integer(std::int64_t number, std::string& into) {
  append_tagged(0xd3, static_cast<std::uint64_t>(number), 8, into);
}

void append_real(double number, std::string& into) {
  append_tagged(0xcb, std::bit_cast<std::uint64_t>(number), 8, into);
}

void append_numpy(std::string_view dtype, std::span<const std::uint64_t> shape,
                  std::string_view data, std::string& into) {
  append_map(5, into);
  append_text("nd", into);
  into += '\xc3';
  append_text("type", into);
  append_text(dtype, into);
  append_text("kind", into);
  append_text("", into);
  append_text("shape", into);
  append_array(shape.size(), into);
  for (const std::uint64_t side : shape) append_integer(static_cast<std::int64_t>(side), into);
  append_text("data", into);
  append_bytes(data, into);
}

void append_number(std::uint64_t bits, std::string& into) {
  for (int at = 0; at < 8; ++at) into += static_cast<char>(bits >> (8 * at) & 0xff);
}

}  // namespace shale::layouts
