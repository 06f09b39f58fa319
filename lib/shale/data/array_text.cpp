#include "shale/data/array_text.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/data/stored_tensor.hpp"

namespace shale {
namespace {

// The name that NumPy has for numbers and times, or others for numbers that it lacks; nullopt for
// other types and for strings that are not a dtype.
std::optional<std::string> name_of_type(std::string_view descr) {
  if (const std::string_view raw = raw_dtype_name(descr); !raw.empty()) return std::string(raw);
  if (descr.size() < 3 || (descr[0] != '<' && descr[0] != '|')) return std::nullopt;
  if (descr.substr(1) == "b1") return "bool";
  constexpr std::pair<char, std::string_view> kNames[] = {
      {'i', "int"},     {'u', "uint"},       {'f', "float"},
      {'c', "complex"}, {'M', "datetime64"}, {'m', "timedelta64"}};
  const auto name = std::ranges::find(kNames, descr[1], &std::pair<char, std::string_view>::first);
  if (name == std::end(kNames)) return std::nullopt;
  const std::string_view size = descr.substr(2, descr.find('[') - 2);
  if (descr[1] == 'M' || descr[1] == 'm') {
    if (size != "8") return std::nullopt;
    return fmt::format("{}{}", name->second, descr.substr(3));
  }
  for (const int bytes : {1, 2, 4, 8, 16, 32}) {
    if (size == fmt::to_string(bytes)) return fmt::format("{}{}", name->second, 8 * bytes);
  }
  return std::nullopt;
}

}  // namespace

std::string dtype_text(std::string_view descr) {
  return printable(name_of_type(descr).value_or(std::string(descr)));
}

std::string dtype_text(const DType& dtype) { return dtype_text(dtype.descr()); }

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::vector<std::string> sides;
  sides.reserve(shape.size());
  for (const std::uint64_t side : shape)
    sides.push_back(side == kFreeSide ? "?" : fmt::to_string(side));
  const bool has_comma = shape.size() == 1 && shape[0] != kFreeSide;
  return fmt::format("({}{})", fmt::join(sides, ", "), has_comma ? "," : "");
}

std::string array_text(const DType& dtype, std::span<const std::uint64_t> shape) {
  if (shape.empty()) return dtype_text(dtype);
  return fmt::format("{} {}", dtype_text(dtype), shape_text(shape));
}

}  // namespace shale
