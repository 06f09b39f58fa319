#include <cstddef>
#include <cstdint>
#include <string>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/python_literal.hpp"

namespace {

// A dict of strings, booleans, lengths and shapes, as far as it is one.
void read_words(shale::PythonScanner& in) {
  in.expect('{');
  while (!in.accept('}')) {
    const std::string name = in.read_string();
    // What is read as text is printed as the same text.
    if (shale::is_utf8(name)) {
      const std::string shown = shale::python_repr(name);
      shale::PythonScanner again(shown, shale::PythonScanner::Encoding::utf8, {"fuzz"});
      if (again.read_string() != name) __builtin_trap();
    }
    in.expect(':');
    if (in.next_is('(')) {
      (void)in.read_shape(32);
    } else if (in.next_is('T') || in.next_is('F')) {
      (void)in.read_bool();
    } else if (in.next_is('\'') || in.next_is('"')) {
      (void)in.read_string();
    } else {
      (void)in.read_length();
    }
    if (!in.next_is('}')) in.expect(',');
  }
}

}  // namespace

// Any bytes are a literal: its words are read, or the error says where it goes on otherwise.
extern "C" int fuzz_python_literal(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  using Encoding = shale::PythonScanner::Encoding;
  for (const Encoding encoding : {Encoding::latin1, Encoding::utf8}) {
    shale::PythonScanner in(text, encoding, {"fuzz"});
    try {
      read_words(in);
    } catch (const shale::Error& error) {
      if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
    }
  }
  return 0;
}
