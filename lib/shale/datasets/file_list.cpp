#include "shale/datasets/file_list.hpp"

#include <filesystem>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

// What a listed name stands for.
std::string path_of_name(const std::string& list, const std::string& name, std::size_t number) {
  const std::string beside = (fs::path(list).parent_path() / name).string();
  const std::optional<struct stat> there = facts_behind(beside), here = facts_behind(name);
  if (!there && !here) {
    throw Error(Code::not_found, "file {} of the list, '{}', does not exist", number,
                printable(name))
        .at(list)
        .hint("names are relative to the folder of the list, or else to the current directory");
  }
  const bool is_one =
      !there || !here || (there->st_dev == here->st_dev && there->st_ino == here->st_ino);
  if (!is_one) {
    throw Error(Code::usage,
                "file {} of the list, '{}', is one file in the folder of the list and another in "
                "the current directory",
                number, printable(name))
        .at(list)
        .hint("run the command in the folder of the list, or list absolute paths");
  }
  return there ? beside : name;
}

}  // namespace

std::optional<std::vector<SetMember>> files_of_list(const std::string& path) {
  const InputFile list(path);
  for (const Format* format : all_formats()) {
    if (format->list_files == nullptr) continue;
    std::optional<std::vector<std::string>> names = format->list_files(list);
    if (!names) continue;
    std::vector<SetMember> files;
    for (std::string& name : *names) {
      std::string found = path_of_name(path, name, files.size() + 1);
      files.push_back({std::move(name), std::move(found)});
    }
    return files;
  }
  return std::nullopt;
}

}  // namespace shale
