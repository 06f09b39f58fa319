#include "shale/format/file_contents.hpp"

#include <algorithm>
#include <cstddef>

namespace shale {

std::string_view split_in(std::string_view path) {
  constexpr std::string_view kNames[] = {"train",      "training", "val",    "valid",
                                         "validation", "test",     "testing"};
  constexpr std::string_view kBreaks = "/_.-";
  const std::string_view first = path.substr(0, path.find_first_of(kBreaks));
  // A dot stands before a member of a compound type: "events.valid" is not of a split.
  const std::size_t last_break = path.find_last_of("/_-");
  const std::string_view last =
      last_break == std::string_view::npos ? path : path.substr(last_break + 1);
  for (const std::string_view word : {first, last}) {
    if (std::ranges::find(kNames, word) != std::end(kNames)) return word;
  }
  return {};
}

}  // namespace shale
