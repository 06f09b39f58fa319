#include "shale/report/page_template.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include <kainjow/mustache.hpp>

#include "shale/base/error.hpp"
#include "shale/report/html_text.hpp"

namespace shale {
namespace {

using Json = nlohmann::ordered_json;
using kainjow::mustache::data;

const Json kNothing;

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// What a template sees of JSON. The library wants values of its own; they are made when a name is
// asked for, and kept until the section that asked for it ends.
class FactsContext final : public kainjow::mustache::basic_context<std::string> {
 public:
  FactsContext(const Json& facts, const Json& page, const ReportPictures& pictures)
      : page_(page), pictures_(pictures), levels_{{&facts, 0}} {}

  void push(const data* value) override {
    const Json* json = &kNothing;
    for (auto held = held_.rbegin(); held != held_.rend() && json == &kNothing; ++held) {
      if (&held->value == value) json = held->json;
      if (!held->value.is_list()) continue;
      const auto& items = held->value.list_value();
      const bool is_item = !items.empty() && value >= &items.front() && value <= &items.back();
      if (is_item) json = &(*held->json)[static_cast<std::size_t>(value - &items.front())];
    }
    levels_.push_back({json, held_.size()});
  }

  void pop() override {
    while (held_.size() > levels_.back().held) held_.pop_back();
    levels_.pop_back();
  }

  const data* get(const std::string& name) const override {
    const std::vector<std::string_view> words = split_at(name, '|');
    const Json* found = find(words.front());
    if (words.size() == 1) return found->is_null() ? nullptr : hold({}, found);
    Json value = filtered(*found, words[1]);
    for (std::size_t i = 2; i < words.size(); ++i) value = filtered(value, words[i]);
    return hold(std::move(value), nullptr);
  }

  const data* get_partial(const std::string& name) const override {
    return &held_.emplace_back(Held{{}, &kNothing, text_of(name)}).value;
  }

  static std::string text_of(std::string_view name) {
    return std::string(page_file(std::string(name) + ".mustache").text);
  }

 private:
  struct Held {
    Json own;
    const Json* json;
    data value;
  };
  struct Level {
    const Json* json;
    std::size_t held;
  };

  const data* hold(Json own, const Json* json) const {
    Held& held = held_.emplace_back(Held{std::move(own), json, data(false)});
    if (json == nullptr) held.json = &held.own;
    const Json& value = *held.json;
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      if (!text.empty()) held.value = data(text);
    } else if (value.is_number()) {
      held.value = data(value.dump());
    } else if (value.is_array()) {
      held.value = data(kainjow::mustache::list(value.size(), data(true)));
    } else {
      held.value = data(value.is_object() || (value.is_boolean() && value.get<bool>()));
    }
    return &held.value;
  }

  // A dot is what the innermost section is about that is not only a condition. Other names are
  // members of the innermost object: never of one around it, which may well have a member of this
  // name, unless `up` asks for that.
  [[nodiscard]] const Json* find(std::string_view path) const {
    auto level = levels_.rbegin();
    if (path == ".") {
      while (level + 1 != levels_.rend() && level->json->is_boolean()) ++level;
      return level->json;
    }
    const std::vector<std::string_view> names = split_at(path, '.');
    auto first = names.begin();
    const auto skip_values = [&] {
      while (level + 1 != levels_.rend() && !level->json->is_object()) ++level;
    };
    skip_values();
    for (; first != names.end() && *first == "up" && level + 1 != levels_.rend(); ++first) {
      ++level;
      skip_values();
    }
    const Json* json = level->json;
    if (first != names.end() && *first == "page") {
      json = &page_;
      ++first;
    }
    for (; first != names.end(); ++first) {
      if (!json->is_object()) return &kNothing;
      const auto member = json->find(*first);
      if (member == json->end()) return &kNothing;
      json = &*member;
    }
    return json;
  }

  // `call`: "count", "share:@values".
  [[nodiscard]] Json filtered(const Json& value, std::string_view call) const {
    const std::vector<std::string_view> words = split_at(call, ':');
    std::vector<Json> arguments;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i].starts_with('@'))
        arguments.push_back(*find(words[i].substr(1)));
      else
        arguments.emplace_back(std::string(words[i]));
    }
    return apply_filter(words.front(), {value, arguments, pictures_});
  }

  const Json& page_;
  const ReportPictures& pictures_;
  std::vector<Level> levels_;
  mutable std::deque<Held> held_;
};

// Takes what the library writes, a line and its end in turn, and drops lines that are empty and
// spaces that lines begin with: so templates may be laid out, and pages stay small.
class Lines {
 public:
  Lines& operator<<(std::string_view text) {
    if (text == "\n") {
      if (has_content_) text_ += text;
      has_content_ = false;
      return *this;
    }
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    has_content_ = has_content_ || !text.empty();
    text_ += text;
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool has_content_ = false;
};

}  // namespace

std::string fill_template(std::string_view name, const Json& facts, const Json& page,
                          const ReportPictures& pictures) {
  kainjow::mustache::mustache filled(FactsContext::text_of(name));
  filled.set_custom_escape(html_words);
  FactsContext context(facts, page, pictures);
  Lines lines;
  filled.render(context, lines);
  if (!filled.is_valid()) throw Error(Code::bug, "template {}: {}", name, filled.error_message());
  return lines.take();
}

std::string fill_code(std::string_view text, const Json& facts) {
  kainjow::mustache::mustache filled{std::string(text)};
  filled.set_custom_escape([](const std::string& word) { return word; });
  const Json nothing = Json::object();
  const ReportPictures none;
  FactsContext context(facts, nothing, none);
  std::string code = filled.render(context);
  if (!filled.is_valid()) throw Error(Code::bug, "code of a reader: {}", filled.error_message());
  return code;
}

const PageFile& page_file(std::string_view name) {
  const std::span<const PageFile> files = page_files();
  const auto found = std::ranges::find(files, name, &PageFile::name);
  if (found == files.end()) throw Error(Code::bug, "no template is named {}", name);
  return *found;
}

}  // namespace shale
