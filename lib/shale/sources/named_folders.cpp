#include "shale/sources/named_folders.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <sys/stat.h>

#include "shale/archives/archive_tree.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/schema.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/joined_words.hpp"

namespace shale {
namespace {

// "image=photos" in its parts; the path alone has no name.
NamedFolder split_named(const std::string& word) {
  std::string path = path_in_word(word);
  std::string name =
      path.size() < word.size() ? word.substr(0, word.size() - path.size() - 1) : std::string();
  return {.field = std::move(name), .root = std::move(path)};
}

bool names_folder(const NamedFolder& word) {
  if (word.field.empty()) return false;
  const std::optional<struct stat> facts = facts_behind(word.root);
  return (facts && S_ISDIR(facts->st_mode)) || archive_of_path(word.root) ||
         (facts && word.root.ends_with(".zip"));
}

void refuse_odd(const NamedFolder& folder) {
  const Place place = look_at(folder.root);
  if (archive_of_path(folder.root) || folder.root.ends_with(".zip")) {
    throw Error(Code::unsupported, "is an archive, and only folders can be joined by name")
        .at(folder.root)
        .hint("unpack it, and name its folder");
  }
  if (place == Place::unfinished) throw unfinished(folder.root);
  if (place == Place::dataset || file_of_path(folder.root)) {
    throw Error(Code::unsupported, "is a dataset, and only folders of files can be joined by name")
        .at(folder.root)
        .hint("pass what it was made from");
  }
  const auto refuse = [&](std::string_view why) {
    throw Error(Code::usage, "no field can be called '{}': {}", printable(folder.field), why)
        .at(folder.root)
        .hint("give the folder another name, as in image=photos mask=masks");
  };
  if (folder.field == "label") refuse("it is that of the labels");
  // The names of a set are in its manifest, with commas, and colons where a type follows.
  if (folder.field.find(',') != std::string::npos) refuse("it has a comma");
  if (folder.field.find(':') != std::string::npos) refuse("it has a colon");
  if (folder.field.find('/') != std::string::npos) refuse("it has a slash");
  try {
    validate_schema({.fields = {{.name = folder.field, .kind = Kind::bytes}}});
  } catch (const Error& error) {
    refuse(error.message());
  }
}

}  // namespace

std::vector<NamedFolder> find_named_folders(const std::vector<std::string>& words) {
  std::vector<NamedFolder> folders;
  folders.reserve(words.size());
  for (const std::string& word : words) folders.push_back(split_named(word));
  if (std::ranges::none_of(folders, names_folder) || !find_joined_groups(words).empty()) return {};
  std::set<std::string_view> names;
  for (const NamedFolder& folder : folders) {
    if (!folder.field.empty() && !facts_behind(folder.root)) throw absent(folder.root);
    if (!names_folder(folder)) {
      throw Error(Code::usage, "is not a folder with a name, but other inputs are")
          .at(folder.root)
          .hint("give each folder a name: image=photos mask=masks");
    }
    refuse_odd(folder);
    if (!names.insert(folder.field).second) {
      throw Error(Code::usage, "the name '{}' is given to two folders", printable(folder.field))
          .at(folder.root)
          .hint("give each folder a name of its own: image=photos mask=masks");
    }
  }
  if (folders.size() == 1) {
    throw Error(Code::usage, "has a name, but there are no other folders that it is joined with")
        .at(folders.front().root)
        .hint("pass the folder alone, or name the others, too: image=photos mask=masks");
  }
  return folders;
}

std::vector<std::string> words_of(const std::vector<NamedFolder>& folders,
                                  const std::string& folder) {
  std::vector<std::string> words;
  words.reserve(folders.size());
  for (const NamedFolder& one : folders)
    words.push_back(one.field + "=" + (folder.empty() ? one.root : join_path(one.root, folder)));
  return words;
}

std::vector<NamedFolder> as_recorded(std::vector<NamedFolder> folders, std::string_view names) {
  for (std::size_t i = 1; i < folders.size(); ++i) folders[i].is_optional = names.ends_with('?');
  return names.empty() ? folders : with_recorded_types(std::move(folders), names);
}

Error not_the_folders(const std::string& dataset, std::string_view names, std::string_view option) {
  std::string words;
  for (const TypedWord& word : typed_words(names)) {
    const std::size_t end = word.name.size() - (word.name.ends_with('?') ? 1 : 0);
    words += fmt::format("{}{} {}=FOLDER", words.empty() ? "" : " ", option,
                         printable(word.name.substr(0, end)));
  }
  return Error(Code::usage, "was made from several folders ({})", printable(names))
      .at(dataset)
      .hint("pass them all, in this order: " + words);
}

}  // namespace shale
