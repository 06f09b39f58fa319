#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// The split that a folder is of by its name, however it is spelled: "TRAIN", "Testing", "seg_val",
/// "train2017". One of kSplitNames; empty: none.
[[nodiscard]] std::string split_of_folder(std::string_view name);

/// The folders of splits, by these, where all of these folders are, each of another one, and apart
/// from it and from numbers have the same name. Empty: they are classes.
[[nodiscard]] std::map<std::string, std::string> spelled_splits(
    const std::vector<std::string>& folders);

}  // namespace shale
