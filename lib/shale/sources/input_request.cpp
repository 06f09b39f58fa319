#include "shale/sources/input_request.hpp"

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/stream_path.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {

std::vector<std::string> inputs_of(const InputRequest& request) {
  std::vector<std::string> inputs;
  for (const std::string& input : request.inputs) {
    inputs.push_back(path_in_word(input));
    if (std::optional<ArchivePath> path = archive_of_path(inputs.back())) {
      inputs.back() = std::move(path->archive);
    } else if (std::optional<StreamPath> stream = stream_of_path(inputs.back())) {
      if (is_stdin(*stream)) {
        inputs.pop_back();
      } else {
        inputs.back() = std::move(stream->file);
      }
    }
  }
  if (request.order.draw && !request.order.draw->file.empty())
    inputs.push_back(request.order.draw->file);
  // A dataset may lend its classes to the one that replaces it.
  for (const std::string& file :
       {request.labels.path, request.classes.from, request.order.choice.select_file,
        request.order.choice.exclude_file}) {
    const std::optional<struct stat> facts = facts_behind(file);
    if (facts && S_ISREG(facts->st_mode)) inputs.push_back(file);
  }
  return inputs;
}

}  // namespace shale
