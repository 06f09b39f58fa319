#include "shale/data/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace shale {
namespace {

using Json = nlohmann::json;

// Takes every token and keeps none.
struct FaultFinder {
  std::optional<std::string> fault = {};

  static bool null() { return true; }
  static bool boolean(bool) { return true; }
  static bool number_integer(Json::number_integer_t) { return true; }
  static bool number_unsigned(Json::number_unsigned_t) { return true; }
  static bool number_float(Json::number_float_t, const std::string&) { return true; }
  static bool string(std::string&) { return true; }
  static bool binary(Json::binary_t&) { return true; }
  static bool start_object(std::size_t) { return true; }
  static bool key(std::string&) { return true; }
  static bool end_object() { return true; }
  static bool start_array(std::size_t) { return true; }
  static bool end_array() { return true; }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    constexpr int kNumberOverflow = 406;
    const std::size_t at = position == 0 ? 0 : position - 1;
    fault = error.id == kNumberOverflow ? fmt::format("a number is beyond float64 at byte {}", at)
            : std::string_view(error.what()).find("surrogate") != std::string_view::npos
                ? fmt::format("half a surrogate pair is escaped at byte {}", at)
                : fmt::format("it does not parse at byte {}", at);
    return false;
  }
};

}  // namespace

std::optional<std::string> json_fault(std::string_view text) {
  // The parser skips it, and others refuse it.
  if (text.starts_with("\xef\xbb\xbf")) return "it begins with a byte order mark";
  FaultFinder finder;
  (void)Json::sax_parse(text, &finder);
  return finder.fault;
}

}  // namespace shale
