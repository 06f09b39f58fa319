#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// msgpack, in its longest forms, behind what a string holds.

namespace shale::layouts {

void append_map(std::size_t entries, std::string& into);
void append_array(std::size_t values, std::string& into);
void append_text(std::string_view text, std::string& into);
void append_bytes(std::string_view bytes, std::string& into);
void append_integer(std::int64_t number, std::string& into);
void append_real(double number, std::string& into);
/// As msgpack-numpy packs an array.
void append_numpy(std::string_view dtype, std::span<const std::uint64_t> shape,
                  std::string_view data, std::string& into);
/// Eight bytes, little-endian.
void append_number(std::uint64_t bits, std::string& into);

}  // namespace shale::layouts
