#include "shale/sources/offered_whole.hpp"

#include <optional>

#include "shale/arrays/array_file.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/format/file_contents.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

bool may_be_saved(const std::string& path, const std::vector<SetMember>& files) try {
  std::vector<SetMember> set = files;
  if (set.empty()) set = files_of_set(path).value_or(std::vector<SetMember>());
  const std::optional<std::string> file =
      set.empty() ? file_of_path(path) : std::optional(set.front().path);
  if (!file) return false;
  const Format* const format = detect_file(InputFile(*file));
  // The parts of a table are whole or not, and without its footer none is found. One of shale's own
  // is read as a whole.
  if (format != nullptr && format->list_columns != nullptr) {
    const InputFile table(*file);
    return set.size() > 1 ||
           (format->list_columns(table).row_groups > 1 && !format->recognize(table, {}));
  }
  // What unpacks arrays or a map passes over what is damaged in them; a set over damaged files.
  const bool unpacks =
      format != nullptr && format->unpack != nullptr &&
      (format->list_contents != nullptr || format->open_map != nullptr || !set.empty());
  if (format != nullptr && (format->salvage != nullptr || unpacks)) return true;
  return open_arrays(*file, {.takes_truncated = true}).arrays.front().whole_rows.has_value();
} catch (const Error&) {
  return false;
}

}  // namespace shale
