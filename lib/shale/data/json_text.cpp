#include "shale/data/json_text.hpp"

#include <utility>

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

// Keeps every value, down to a depth, so that nothing that walks the result can run out of stack.
class TreeBuilder {
 public:
  bool null() { return add({}); }
  bool boolean(bool value) { return add({Type::boolean, value ? "true" : "false"}); }
  bool number_integer(Json::number_integer_t value) { return add_number(fmt::to_string(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return add_number(fmt::to_string(value)); }
  bool number_float(Json::number_float_t /*value*/, const std::string& text) {
    return add_number(text);
  }
  bool string(std::string& text) { return add({Type::string, std::move(text)}); }
  static bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Type::object); }
  bool key(std::string& name) {
    open_.back().names.push_back(std::move(name));
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Type::array); }
  bool end_array() { return close(); }
  static bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return false;
  }

  [[nodiscard]] JsonValue take() && { return std::move(root_); }

 private:
  using Type = JsonValue::Type;
  static constexpr std::size_t kMostDepth = 64, kMostValues = 65'536;

  bool add_number(std::string text) { return add({Type::number, std::move(text)}); }
  bool add(JsonValue value) {
    if (++values_ > kMostValues) return false;
    (open_.empty() ? root_ : open_.back().elements.emplace_back()) = std::move(value);
    return true;
  }
  bool open(Type type) {
    if (open_.size() == kMostDepth) return false;
    open_.push_back({.type = type});
    return true;
  }
  bool close() {
    JsonValue value = std::move(open_.back());
    open_.pop_back();
    return add(std::move(value));
  }

  std::vector<JsonValue> open_;
  std::size_t values_ = 0;
  JsonValue root_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  for (std::size_t i = names.size(); i > 0; --i) {
    if (names[i - 1] == name) return &elements[i - 1];
  }
  return nullptr;
}

std::optional<JsonValue> parse_json(std::string_view text) {
  TreeBuilder builder;
  if (!Json::sax_parse(text, &builder)) return std::nullopt;
  return std::move(builder).take();
}

std::string json_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::optional<std::string> json_fault(std::string_view text) {
  // The parser skips it, and others refuse it.
  if (text.starts_with("\xef\xbb\xbf")) return "it begins with a byte order mark";
  FaultFinder finder;
  (void)Json::sax_parse(text, &finder);
  return finder.fault;
}

}  // namespace shale
