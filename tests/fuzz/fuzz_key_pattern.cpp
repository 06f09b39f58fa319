#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/format/key_pattern.hpp"

// The first line is a pattern, each of the others a key. What is read of a pattern is written as
// one that is read as the same; what a field captures of a key makes that key.
extern "C" int fuzz_key_pattern(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto next_line = [&text] {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
  };
  try {
    const shale::KeyPattern pattern = shale::parse_key_pattern(next_line());
    const std::string written = shale::text_of(pattern);
    if (shale::text_of(shale::parse_key_pattern(written)) != written) __builtin_trap();
    while (!text.empty()) {
      const std::string_view key = next_line();
      for (const shale::KeyField& field : pattern.fields) {
        const auto captured = field.captured_in(key);
        if (captured && field.key_of(*captured) != key) __builtin_trap();
      }
      const auto field = pattern.field_of(key);
      if (field && !pattern.fields[*field].captured_in(key)) __builtin_trap();
      (void)shale::numbered_field_of(key);
    }
  } catch (const shale::Error& error) {
    if (error.code() != shale::Code::usage) __builtin_trap();
  }
  return 0;
}
