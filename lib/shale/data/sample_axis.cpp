#include "shale/data/sample_axis.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

Error not_axes(std::string_view text) {
  return Error(Code::usage, "--axis '{}' does not have the form NAME=AXIS,NAME=AXIS",
               printable(text))
      .hint("AXIS counts from 0, or from the end: -1 is the last");
}

}  // namespace

std::size_t SampleAxis::among(std::size_t axes) const {
  const auto count = static_cast<std::int64_t>(axes);
  if (axis >= -count && axis < count)
    return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
  throw Error(Code::usage, "--axis: '{}' has {} axes, and none with the number {}", printable(name),
              axes, axis)
      .hint("axes count from 0, or from the end: -1 is the last");
}

std::vector<SampleAxis> parse_axes(std::string_view text) {
  std::vector<SampleAxis> axes;
  for (std::string_view left = text;;) {
    const std::string_view one = left.substr(0, left.find(','));
    const std::size_t equals = one.rfind('=');
    const bool is_plain =
        std::ranges::none_of(one, [](char c) { return static_cast<unsigned char>(c) < ' '; });
    if (equals == 0 || equals == std::string_view::npos || !is_plain) throw not_axes(text);
    SampleAxis axis{.name = std::string(one.substr(0, equals))};
    const std::string_view number = one.substr(equals + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), axis.axis);
    if (error != std::errc() || end != number.data() + number.size()) throw not_axes(text);
    if (std::ranges::count(axes, axis.name, &SampleAxis::name) > 0) {
      throw Error(Code::usage, "--axis names '{}' twice", printable(axis.name))
          .hint("name each array once");
    }
    axes.push_back(std::move(axis));
    if (one.size() == left.size()) return axes;
    left.remove_prefix(one.size() + 1);
  }
}

std::string axes_text(const std::vector<SampleAxis>& axes) {
  std::string text;
  for (const SampleAxis& one : axes)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", one.name, one.axis);
  return text;
}

const SampleAxis* axis_of(const std::vector<SampleAxis>& axes, std::string_view name,
                          std::string_view field) {
  const auto found = std::ranges::find_if(
      axes, [&](const SampleAxis& one) { return one.name == name || one.name == field; });
  return found == axes.end() ? nullptr : &*found;
}

std::vector<std::uint64_t> with_side_first(std::vector<std::uint64_t> sides, std::size_t axis) {
  const auto first = sides.begin();
  std::rotate(first, first + static_cast<std::ptrdiff_t>(axis),
              first + static_cast<std::ptrdiff_t>(axis) + 1);
  return sides;
}

}  // namespace shale
