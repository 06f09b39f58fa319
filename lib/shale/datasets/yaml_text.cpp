#include "shale/datasets/yaml_text.hpp"

#include <utility>

#include <yaml.h>

namespace shale {
namespace {

struct YamlEvent : yaml_event_t {
  YamlEvent() : yaml_event_t() {}
  ~YamlEvent() { yaml_event_delete(this); }
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
};

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) {
    is_ready_ = yaml_parser_initialize(&parser_) != 0;
    if (!is_ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~YamlReader() {
    if (is_ready_) yaml_parser_delete(&parser_);
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  std::optional<JsonValue> read() {
    if (!is_ready_ || !passes(YAML_STREAM_START_EVENT) || !passes(YAML_DOCUMENT_START_EVENT))
      return std::nullopt;
    std::optional<JsonValue> value = read_value();
    const bool is_whole = value && passes(YAML_DOCUMENT_END_EVENT);
    return is_whole ? std::move(value) : std::nullopt;
  }

 private:
  static constexpr int kMostDepth = 64;
  static constexpr std::size_t kMostValues = 65'536;

  bool passes(yaml_event_type_t expected) {
    YamlEvent event;
    return yaml_parser_parse(&parser_, &event) != 0 && event.type == expected;
  }

  std::optional<JsonValue> read_value() {
    YamlEvent event;
    return yaml_parser_parse(&parser_, &event) != 0 ? value_of(event) : std::nullopt;
  }

  std::optional<JsonValue> value_of(const YamlEvent& event) {
    if (++values_ > kMostValues) return std::nullopt;
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        return JsonValue{.type = JsonValue::Type::string, .text = text_of(event)};
      case YAML_SEQUENCE_START_EVENT:
      case YAML_MAPPING_START_EVENT:
        break;
      default:
        return std::nullopt;
    }
    if (depth_ == kMostDepth) return std::nullopt;
    ++depth_;
    std::optional<JsonValue> value = read_elements(event.type == YAML_MAPPING_START_EVENT);
    --depth_;
    return value;
  }

  std::optional<JsonValue> read_elements(bool is_mapping) {
    JsonValue all{.type = is_mapping ? JsonValue::Type::object : JsonValue::Type::array};
    const yaml_event_type_t end = is_mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    while (true) {
      YamlEvent event;
      if (yaml_parser_parse(&parser_, &event) == 0) return std::nullopt;
      if (event.type == end) return all;
      if (is_mapping && event.type != YAML_SCALAR_EVENT) return std::nullopt;
      if (is_mapping) all.names.push_back(text_of(event));
      std::optional<JsonValue> element = is_mapping ? read_value() : value_of(event);
      if (!element) return std::nullopt;
      all.elements.push_back(*std::move(element));
    }
  }

  static std::string text_of(const YamlEvent& event) {
    const auto& scalar = event.data.scalar;
    return {reinterpret_cast<const char*>(scalar.value), scalar.length};
  }

  yaml_parser_t parser_ = {};
  bool is_ready_ = false;
  int depth_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

std::optional<JsonValue> parse_yaml(std::string_view text) { return YamlReader(text).read(); }

}  // namespace shale
