#include "shale/shards/rebuild_hint.hpp"

#include <fmt/format.h>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

// The words behind "shale index".
std::string operands_of(const std::string& lists, const std::string& file) {
  const std::string folder = folder_of_file(file);
  const std::string in_lists = join_path(lists, "");
  const bool is_beside = join_path(folder, "") == in_lists;
  if (is_beside && shard_of_file(file.substr(file.rfind('/') + 1))) return printable(folder);
  const std::string set = join_path(kSetIndexFolder, "");
  if (in_lists.ends_with("/" + set))
    return printable(in_lists.substr(0, in_lists.size() - set.size() - 1));
  if (is_beside) return printable(file);
  const bool is_of_set = facts_behind(join_path(lists, std::string(kManifestName))).has_value();
  return (is_of_set ? "FILE..." : printable(file)) + " --index-dir " + printable(lists);
}

}  // namespace

std::string rebuild_command(const std::string& lists, const std::string& file) {
  return "shale index " + operands_of(lists, file);
}

std::string rebuild_hint(const std::string& lists, const std::string& file) {
  return fmt::format("run '{}' to build what is missing or wrong again",
                     rebuild_command(lists, file));
}

}  // namespace shale
