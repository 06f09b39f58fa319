#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shale {

/// Refuses an output that is an input (by device and inode: through any spelling, link or mount),
/// lies inside of one or holds one; that is another output or lies inside of one; or that lies
/// inside of a dataset. What cannot be resolved (no permission, a loop of links) is left to whoever
/// opens it. Errors: Code::usage.
void refuse_nested(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// The same for what only a listing of the input shows: a folder of it that is mounted in another
/// place, or that a link in it leads to. The function is called with each folder of the input
/// (FolderRequest::enters) and refuses the output if that lies inside. Errors: Code::usage.
[[nodiscard]] std::function<void(std::uint64_t device, std::uint64_t inode)> refuse_folders_with(
    const std::string& output, const std::string& input);

/// Refuses an output whose folder is a dataset, or lies inside of one. Errors: Code::usage.
void refuse_inside_dataset(const std::string& output, const std::string& folder);

}  // namespace shale
