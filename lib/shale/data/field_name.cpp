#include "shale/data/field_name.hpp"

#include <algorithm>

#include "shale/data/schema.hpp"

namespace shale {

std::string field_name_of(std::string_view name) {
  std::string made(name);
  std::replace_if(
      made.begin(), made.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  if (is_reserved_name(made)) made += '_';
  return made;
}

}  // namespace shale
