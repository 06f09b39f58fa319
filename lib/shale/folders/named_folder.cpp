#include "shale/folders/named_folder.hpp"

namespace shale {

std::string names_text(const std::vector<NamedFolder>& folders) {
  std::string text;
  for (const NamedFolder& folder : folders)
    text.append(text.empty() ? "" : ",").append(folder.field);
  return text;
}

}  // namespace shale
