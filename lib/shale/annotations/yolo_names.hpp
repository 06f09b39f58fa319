#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// The names of the classes of YOLO's numbers, and the file that has them.
struct YoloNames {
  std::string from;
  std::vector<std::string> names;
};

/// True for a text file that is called like one of names: classes.txt.
[[nodiscard]] bool is_list_of_names(std::string_view name);

/// Those of classes.txt, predefined_classes.txt, _darknet.labels or obj.names, a name in each line,
/// or of `names` in data.yaml, in the folder, the one above, or the one above that; nullopt: there
/// are none. Errors: Code::bad_content for a data.yaml whose names are written in another
/// way than as a list, in a line or below each other, or as numbers with names; Code::io.
[[nodiscard]] std::optional<YoloNames> find_yolo_names(const std::string& folder);

}  // namespace shale
