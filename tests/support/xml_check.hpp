#pragma once

#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

// Whether a page is well-formed XML, as far as pages of ours go: tags that are balanced, quoted
// attributes without '<', each once, the five named references and numbers, one root. A strict
// reader in few lines; tests/interop shows the same pages to expat and to Chromium.

namespace shale::test {

class XmlCheck {
 public:
  /// Empty if the text is well-formed; else what is wrong, and where.
  static std::string problem_of(std::string_view text) {
    XmlCheck check(text);
    if (check.problem_.empty()) check.read();
    return check.problem_;
  }

 private:
  explicit XmlCheck(std::string_view text) : text_(text) {
    constexpr std::string_view kDoctype = "<!DOCTYPE html>\n";
    if (text_.starts_with(kDoctype)) at_ = kDoctype.size();
  }

  void fail(std::string_view what) {
    if (problem_.empty())
      problem_ = fmt::format("byte {}: {}: {}", at_, what, text_.substr(at_, 60));
  }

  void read() {
    while (at_ < text_.size() && problem_.empty()) {
      if (open_.empty() && text_.substr(at_).starts_with("<!--")) {
        read_comment();
      } else if (text_[at_] == '<') {
        read_tag();
      } else if (text_[at_] == '&') {
        read_reference();
      } else {
        if (open_.empty() && text_[at_] != '\n') fail("text outside of the root");
        check_character();
        ++at_;
      }
    }
    if (!open_.empty()) fail("not closed: " + open_.back());
  }

  // One that stands outside of the root: within it, there are none.
  void read_comment() {
    constexpr std::size_t kBegin = 4;  // <!--
    const std::size_t end = text_.find("--", at_ + kBegin);
    if (end == std::string_view::npos || text_.substr(end, 3) != "-->")
      return fail("a comment that does not end");
    at_ = end + 3;
  }

  void check_character() {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte < 0x20 && byte != '\n' && byte != '\t') fail("a control character");
    if (text_.substr(at_, 3) == "\xEF\xBF\xBE" || text_.substr(at_, 3) == "\xEF\xBF\xBF")
      fail("a character that XML does not have");
  }

  void read_reference() {
    const std::size_t end = text_.find(';', at_);
    const std::string_view name =
        text_.substr(at_ + 1, end == std::string_view::npos ? 0 : end - at_ - 1);
    static const std::set<std::string_view> kKnown = {"amp", "lt", "gt", "quot", "#39"};
    if (!kKnown.contains(name)) return fail("a bare '&' or an unknown reference");
    at_ = end + 1;
  }

  std::string read_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '-' || text_[at_] == ':'))
      ++at_;
    if (at_ == begin) fail("no name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  void read_tag() {
    ++at_;
    if (text_.substr(at_, 1) == "/") {
      ++at_;
      const std::string name = read_name();
      if (open_.empty() || open_.back() != name) return fail("closes what is not open: " + name);
      open_.pop_back();
      return expect('>');
    }
    if (open_.empty() && had_root_) return fail("a second root");
    had_root_ = true;
    const std::string name = read_name();
    std::set<std::string> attributes;
    while (problem_.empty() && text_.substr(at_, 1) == " ") {
      ++at_;
      if (!attributes.insert(read_name()).second) return fail("an attribute twice");
      read_value();
    }
    if (text_.substr(at_, 1) == "/") {
      ++at_;
    } else {
      open_.push_back(name);
    }
    expect('>');
  }

  void read_value() {
    expect('=');
    expect('"');
    while (problem_.empty() && at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '<') return fail("'<' in an attribute");
      if (text_[at_] == '&') {
        read_reference();
      } else {
        check_character();
        ++at_;
      }
    }
    expect('"');
  }

  void expect(char wanted) {
    if (!problem_.empty()) return;
    if (at_ >= text_.size() || text_[at_] != wanted)
      return fail(fmt::format("expected '{}'", wanted));
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  bool had_root_ = false;
  std::string problem_;
};

}  // namespace shale::test
