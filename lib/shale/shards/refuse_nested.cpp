#include "shale/shards/refuse_nested.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <sys/stat.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

// A path, all links resolved, and what is at it and at each folder above it: by device and
// inode, since one folder may be mounted in two places.
struct ResolvedPath {
  std::string text;
  std::vector<std::pair<dev_t, ino_t>> chain;  // from the root; ends early where nothing is
  bool exists = false;
};

ResolvedPath resolve(const std::string& path) {
  ResolvedPath resolved;
  std::error_code error;
  // Without a slash at the end, which would be one more folder.
  const std::string whole = fs::weakly_canonical(fs::absolute(path, error), error).string();
  if (error) return resolved;
  resolved.text =
      whole.size() > 1 && whole.ends_with('/') ? whole.substr(0, whole.size() - 1) : whole;
  fs::path at;
  for (const fs::path& part : fs::path(resolved.text)) {
    at /= part;
    struct stat facts {};
    if (::stat(at.c_str(), &facts) != 0) return resolved;
    resolved.chain.emplace_back(facts.st_dev, facts.st_ino);
  }
  resolved.exists = true;
  return resolved;
}

bool are_same(const ResolvedPath& one, const ResolvedPath& other) {
  if (one.exists && other.exists) return one.chain.back() == other.chain.back();
  return !one.text.empty() && one.text == other.text;
}

// True for a path below the other one.
bool lies_in(const ResolvedPath& inner, const ResolvedPath& outer) {
  if (outer.text.empty() || inner.text.empty()) return false;
  if (!outer.exists) return inner.text.starts_with(outer.text + "/");
  const auto above = inner.exists ? std::prev(inner.chain.end()) : inner.chain.end();
  return std::find(inner.chain.begin(), above, outer.chain.back()) != above;
}

Error refusal(const std::string& output, const std::string& fact, const std::string& other) {
  return Error(Code::usage, "{} {}", fact, printable(other))
      .at(output)
      .hint("choose another output");
}

}  // namespace

void refuse_nested(const std::vector<std::string>& outputs,
                   const std::vector<std::string>& inputs) {
  std::vector<std::pair<std::string, ResolvedPath>> others;
  others.reserve(inputs.size());
  for (const std::string& input : inputs) others.emplace_back(input, resolve(input));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& output = outputs[i];
    const ResolvedPath resolved = resolve(output);
    for (std::size_t j = 0; j < others.size(); ++j) {
      const auto& [other, place] = others[j];
      const bool is_input = j < inputs.size();
      if (are_same(resolved, place))
        throw refusal(output, is_input ? "is the input" : "is the same output as", other);
      if (lies_in(resolved, place))
        throw refusal(output, is_input ? "is inside the input" : "is inside the output", other);
      if (lies_in(place, resolved))
        throw refusal(output, is_input ? "holds the input" : "holds the output", other);
    }
    others.emplace_back(output, resolved);
    const fs::path above = fs::path(resolved.text).parent_path();
    if (!above.empty()) refuse_inside_dataset(output, above.string());
  }
}

std::function<void(std::uint64_t, std::uint64_t)> refuse_folders_with(const std::string& output,
                                                                      const std::string& input) {
  return [=, chain = resolve(output).chain](std::uint64_t device, std::uint64_t inode) {
    if (std::find(chain.begin(), chain.end(), std::pair<dev_t, ino_t>(device, inode)) !=
        chain.end())
      throw refusal(output, "is inside the input", input);
  };
}

void refuse_inside_dataset(const std::string& output, const std::string& folder) {
  std::error_code error;
  fs::path at = fs::weakly_canonical(fs::absolute(folder, error), error);
  if (error) return;
  for (; at != at.parent_path(); at = at.parent_path()) {
    if (!fs::is_directory(at, error) || !holds_dataset(at.string())) continue;
    throw refusal(output, "is inside the dataset", at.string());
  }
}

}  // namespace shale
