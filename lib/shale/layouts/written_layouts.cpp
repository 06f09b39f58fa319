#include "shale/layouts/written_layouts.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace shale::layouts {
namespace {

constexpr std::string_view kSplitNames[] = {"train", "val", "test"};

}  // namespace

std::string lsun_directory(std::string_view class_name, std::string_view input) {
  const auto is_split = [](std::string_view name) {
    return std::ranges::find(kSplitNames, name) != std::end(kSplitNames);
  };
  const std::size_t end = class_name.rfind('_');
  const bool has_split =
      end != std::string_view::npos && end > 0 && is_split(class_name.substr(end + 1));
  return has_split
             ? fmt::format("{}_lmdb", class_name)
             : fmt::format("{}_{}_lmdb", class_name, is_split(input) ? input : kSplitNames[0]);
}

std::string k400_file(std::string_view part) {
  return fmt::format("k400_frame_{}.lmdb", part == "train" ? "train" : "val");
}

std::uint64_t next_by_digits(std::uint64_t number, std::uint64_t count) {
  if (number > 0 && number * 10 < count) return number * 10;
  if (number + 1 >= count) number /= 10;
  ++number;
  while (number % 10 == 0) number /= 10;
  return number;
}

}  // namespace shale::layouts
