#include "shale/sources/input_request.hpp"

#include <filesystem>

#include "shale/arrays/array_columns.hpp"

namespace shale {

namespace fs = std::filesystem;

std::vector<std::string> inputs_of(const InputRequest& request) {
  std::vector<std::string> inputs;
  for (const std::string& input : request.inputs) inputs.push_back(path_in_word(input));
  if (request.draw && !request.draw->file.empty()) inputs.push_back(request.draw->file);
  // A dataset may lend its classes to the one that replaces it.
  std::error_code error;
  for (const std::string& file : {request.labels_file, request.classes_from}) {
    if (fs::is_regular_file(file, error)) inputs.push_back(file);
  }
  return inputs;
}

}  // namespace shale
