#include "shale/manifest/json_list.hpp"

#include <nlohmann/json.hpp>

namespace shale {
namespace {

// Each function returns false to stop: what is in the array is not what a field can hold.
class ListHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t value) override {
    list.integers.push_back(value);
    const auto real = static_cast<double>(value);
    constexpr double kBehindLast = 9223372036854775808.0;
    list.is_exact = list.is_exact && real < kBehindLast && static_cast<std::int64_t>(real) == value;
    return add_number(real);
  }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr number_unsigned_t kMost = INT64_MAX;
    return value <= kMost && number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    // An integer of more than 64 bits comes as a double, too.
    if (text.find_first_of(".eE") == string_t::npos) return false;
    list.has_reals = true;
    return add_number(value);
  }
  bool string(string_t& value) override {
    list.texts.push_back(std::move(value));
    ++count_;
    return depth_ == 1 && list.reals.empty() && !has_inner_;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return false; }
  bool key(string_t&) override { return false; }
  bool end_object() override { return false; }
  bool start_array(std::size_t) override {
    if (++depth_ == 1) return true;
    has_inner_ = true;
    inner_ = 0;
    return depth_ == 2 && count_ == outer_;
  }
  bool end_array() override {
    if (--depth_ == 0) {
      list.sides = {has_inner_ ? outer_ : count_};
      if (has_inner_) list.sides.push_back(inner_);
      if (list.has_reals) list.integers.clear();
      return true;
    }
    if (outer_ > 0 && inner_ != width_) return false;
    width_ = inner_;
    ++outer_;
    count_ = outer_;
    return list.texts.empty();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

  JsonList list;

 private:
  bool add_number(double value) {
    list.reals.push_back(value);
    if (depth_ == 2) {
      ++inner_;
    } else {
      ++count_;
    }
    return depth_ > 0 && list.texts.empty() && (depth_ == 2 || !has_inner_);
  }

  int depth_ = 0;
  bool has_inner_ = false;
  // Elements of the array, arrays in it, elements of the last of these and of those before.
  std::uint64_t count_ = 0, outer_ = 0, inner_ = 0, width_ = 0;
};

}  // namespace

std::optional<JsonList> parse_json_list(std::string_view json) {
  if (!json.starts_with('[')) return std::nullopt;
  ListHandler handler;
  if (!nlohmann::json::sax_parse(json, &handler)) return std::nullopt;
  return std::move(handler.list);
}

}  // namespace shale
