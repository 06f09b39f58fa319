#include "shale/manifest/name_json.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {

Json name_to_json(const std::string& name) {
  if (is_utf8(name)) return name;
  std::string hex;
  for (const char c : name) hex += fmt::format("{:02x}", static_cast<std::uint8_t>(c));
  return {{"bytes", hex}};
}

std::string name_from_json(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const std::string& hex = string_at(json, "bytes");
  const bool is_hex =
      hex.size() % 2 == 0 && hex.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hex) throw Error(Code::damaged, "name is not pairs of lower-case hex digits");
  std::string name;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    name += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return name;
}

}  // namespace shale
