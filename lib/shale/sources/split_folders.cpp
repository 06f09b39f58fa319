#include "shale/sources/split_folders.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "shale/archives/archive_tree.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/labels/split_names.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/readme.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrain = "train";
constexpr std::size_t kShownBeside = 3;

bool may_be_splits(const InputRequest& request) {
  const std::string& input = request.inputs.front();
  if (input == "-" || url_error(input)) return false;
  return look_at(input) == Place::other_folder && !file_of_path(input);
}

// Null if it is certain that there are none.
std::shared_ptr<FileTree> tree_of_splits(const InputRequest& request, const Events& events) {
  if (request.inputs.size() != 1 || !request.labels.path.empty()) return nullptr;
  const std::string& input = request.inputs.front();
  const std::optional<ArchivePath> archive = archive_of_path(input);
  if (!archive) return may_be_splits(request) ? open_folder_tree(input) : nullptr;
  const FolderRequest folder{.root = input,
                             .files = {.hidden = request.files.hidden},
                             .on_damage = request.on_damage,
                             .scratch_folder = request.scratch_folder.empty()
                                                   ? temporary_folder()
                                                   : request.scratch_folder,
                             .memory_bytes = list_memory(request.memory_bytes),
                             .stop_if_asked = [&events] { events.stop_if_asked(); }};
  return open_tree_of_splits(folder, *archive);
}

// Sub-folders, sorted bytewise.
template <class Beside>
std::vector<std::string> folders_in(FileTree& tree, const std::string& folder, HiddenPolicy hidden,
                                    Beside beside) {
  std::vector<std::string> names;
  const auto keeps = [&](const FolderEntry& entry) {
    const bool is_hidden = is_hidden_name(entry.name) && hidden != HiddenPolicy::keep;
    const bool is_taken = entry.is_directory && !is_hidden;
    if (!is_taken) beside(entry.name);
    return is_taken;
  };
  for (const FolderEntry& entry : tree.list(folder, keeps)) names.push_back(entry.name);
  return names;
}

std::vector<std::string> classes_in(FileTree& tree, const std::string& folder,
                                    HiddenPolicy hidden) {
  return folders_in(tree, folder, hidden, [](const std::string&) {});
}

// Errors: Code::bad_content where one of the splits has classes that the table lacks: said before
// anything is written.
void find_classes(FileTree& tree, const InputRequest& request, SplitFolders& splits) {
  const std::string& root = request.inputs.front();
  const bool is_given = !request.classes.from.empty();
  const bool has_train = splits.names.front() == kTrain;
  std::map<std::string, std::vector<std::string>> classes;
  std::set<std::string> all;
  for (const std::string& name : splits.names) {
    std::vector<std::string>& found = classes[name] =
        classes_in(tree, splits.folder_of(name), request.files.hidden);
    all.insert(found.begin(), found.end());
  }
  if (!is_given && has_train) splits.classes = classes[std::string(kTrain)];
  if (!is_given && !has_train) splits.classes.assign(all.begin(), all.end());
  if (!is_given)
    splits.classes_from = has_train ? join_path(root, splits.folder_of(std::string(kTrain))) : root;
  const std::string& from = is_given ? request.classes.from : splits.classes_from;
  const ClassTable table = is_given ? load_class_table(from, request.memory_bytes)
                                    : ClassTable(splits.classes, from, request.memory_bytes);
  for (const std::string& name : splits.names) {
    for (const std::string& one : classes[name]) {
      if (!table.label_of(one))
        throw not_in_class_table(one, join_path(join_path(root, splits.folder_of(name)), one), from,
                                 false);
    }
  }
}

// True if the splits are datasets of shale's, which have their labels.
bool are_datasets(const std::string& root, const std::vector<std::string>& names) {
  const auto is_dataset = [&](const std::string& name) {
    return holds_dataset(join_path(root, name));
  };
  const auto dataset = std::ranges::find_if(names, is_dataset);
  if (dataset == names.end()) return false;
  const auto other = std::ranges::find_if_not(names, is_dataset);
  if (other == names.end()) return true;
  throw Error(Code::bad_content, "is not a dataset, but {} is", join_path(root, *dataset))
      .at(join_path(root, *other))
      .hint("convert them one by one");
}

std::vector<std::string> paths_of(const SetOfSplit& split) {
  std::vector<std::string> paths;
  for (const SetMember& file : split.files) paths.push_back(file.path);
  return paths;
}

// Files of other tools have their own labels and classes.
std::optional<SplitFolders> splits_in_files(const InputRequest& request) {
  if (request.inputs.size() != 1 || !may_be_splits(request)) return std::nullopt;
  SplitFolders splits;
  splits.files = files_of_splits(request.inputs.front());
  for (const SetOfSplit& one : splits.files) splits.names.push_back(one.split);
  return splits.files.empty() ? std::nullopt : std::optional(std::move(splits));
}

std::optional<SplitFolders> splits_in_folder(const InputRequest& request, const Events& events) {
  if (std::optional<SplitFolders> splits = splits_in_files(request)) {
    for (const SetOfSplit& split : splits->files) {
      // One file is opened as a file, not as a set, which would say it.
      std::string note = split.files.size() == 1 ? note_on_missing_files(split.files) : "";
      if (!note.empty()) events.say(note);
    }
    return splits;
  }
  const std::shared_ptr<FileTree> tree = tree_of_splits(request, events);
  if (!tree) return std::nullopt;
  const std::string& root = request.inputs.front();
  SplitFolders splits;
  bool are_splits = true;
  for (std::string& name :
       folders_in(*tree, "", request.files.hidden, [&](const std::string& other) {
         ++splits.others;
         if (splits.beside.size() < kShownBeside) splits.beside.push_back(other);
       })) {
    // Datasets that --split made have any name.
    are_splits = are_splits && (is_split_name(name) ||
                                (!tree->is_archive() && holds_dataset(join_path(root, name))));
    splits.names.push_back(std::move(name));
  }
  if (!are_splits) {
    splits.spelled = spelled_splits(splits.names);
    splits.names.clear();
    for (const auto& [split, folder] : splits.spelled) splits.names.push_back(split);
  }
  if (splits.names.empty()) return std::nullopt;
  const auto train = std::ranges::find(splits.names, kTrain);
  if (train != splits.names.end()) std::rotate(splits.names.begin(), train, train + 1);
  if (tree->is_archive()) splits.tree = tree;
  if (splits.tree || !splits.spelled.empty() || !are_datasets(root, splits.names)) {
    find_classes(*tree, request, splits);
  } else {  // files of shale's own
    splits.others -= std::erase_if(splits.beside, [&](const std::string& name) {
      return name == kDuplicatesName ||
             (name == kReadmeName && is_own_readme(join_path(root, name)));
    });
  }
  return splits;
}

// In all folders that are joined, and nothing else beside them.
void look_for_splits(const NamedFolder& folder, const InputRequest& request, SplitFolders& splits) {
  const std::shared_ptr<FileTree> tree = open_folder_tree(folder.root);
  const auto add_other = [&](const std::string& name) {
    ++splits.others;
    if (splits.beside.size() < kShownBeside) splits.beside.push_back(join_path(folder.root, name));
  };
  const std::vector<std::string> found = folders_in(*tree, "", request.files.hidden, add_other);
  for (const std::string& name : found) {
    const auto is_of = [&](const std::string& split) { return splits.folder_of(split) == name; };
    if (std::ranges::none_of(splits.names, is_of)) add_other(name);
  }
  for (const std::string& name : splits.names) {
    if (std::ranges::find(found, splits.folder_of(name)) != found.end()) continue;
    throw Error(Code::bad_content, "lacks the split '{}' of {}", splits.folder_of(name),
                printable(splits.folders.front().root))
        .at(folder.root)
        .hint(
            "folders that are joined have the same splits; name those of one split to convert it "
            "alone");
  }
}

}  // namespace

std::optional<SplitFolders> find_split_folders(const InputRequest& request, const Events& events) {
  std::vector<NamedFolder> folders = find_named_folders(request.inputs);
  if (folders.empty()) return splits_in_folder(request, events);
  InputRequest first = request;
  first.inputs = {folders.front().root};
  std::optional<SplitFolders> splits = splits_in_folder(first, events);
  if (!splits) return splits;
  splits->folders = std::move(folders);
  for (std::size_t i = 1; i < splits->folders.size(); ++i)
    look_for_splits(splits->folders[i], request, *splits);
  return splits;
}

InputRequest input_of_split(const InputRequest& request, const SplitFolders& splits,
                            const std::string& name) {
  InputRequest one = request;
  one.split_by = SplitBy::none;
  if (!splits.columns.empty()) {
    const auto found = std::ranges::find(splits.names, name);
    const FieldChoice& columns = splits.columns[std::size_t(found - splits.names.begin())];
    one.fields.only = columns.only;
    one.fields.renamed = columns.renamed;
    return one;
  }
  if (!splits.files.empty()) {
    one.inputs = paths_of(*std::ranges::find(splits.files, name, &SetOfSplit::split));
    return one;
  }
  const std::string& folder = splits.folder_of(name);
  one.inputs = splits.folders.empty()
                   ? std::vector<std::string>{join_path(request.inputs.front(), folder)}
                   : words_of(splits.folders, folder);
  one.classes.names = splits.classes;
  one.classes.names_from = splits.classes_from;
  if (splits.tree) one.tree = tree_below(splits.tree, folder);
  return one;
}

namespace {

// Where the sources are one.
std::vector<std::string> sources_of_one(const std::string& source,
                                        const std::vector<std::string>& names,
                                        const Events& events) {
  std::vector<std::string> sources(names.size(), source);
  std::shared_ptr<FileTree> archive;
  if (archive_of_path(source)) {
    InputRequest request;
    request.inputs = {source};
    archive = tree_of_splits(request, events);
    if (!archive) return sources;
  }
  std::vector<std::string> folders;
  if (archive || look_at(source) == Place::other_folder)
    folders = classes_in(archive ? *archive : *open_folder_tree(source), "", HiddenPolicy::skip);
  const std::map<std::string, std::string> spelled = spelled_splits(folders);
  for (std::string& one : sources) {
    std::string name = names[static_cast<std::size_t>(&one - sources.data())];
    if (const auto found = spelled.find(name); found != spelled.end()) name = found->second;
    const std::string folder = join_path(source, name);
    const Place place = archive ? Place::absent : look_at(folder);
    const bool is_there = archive ? std::ranges::find(folders, name) != folders.end()
                                  : place != Place::absent && place != Place::other_file;
    if (is_there) one = folder;
  }
  return sources;
}

}  // namespace

std::vector<std::string> source_of_split(const std::string& source, const std::string& dataset,
                                         const Events& events) {
  if (source == "-") return {source};
  if (look_at(source) != Place::other_folder && !archive_of_path(source)) return {source};
  const std::string name = fs::path(fs::absolute(join_path(dataset, ".")).lexically_normal())
                               .parent_path()
                               .filename()
                               .string();
  if (is_split_name(name)) {
    const std::vector<SetOfSplit> files = files_of_splits(source);
    const auto found = std::ranges::find(files, name, &SetOfSplit::split);
    if (found != files.end()) return paths_of(*found);
  }
  std::vector<std::string> names = splits_in(source);
  if (names.empty() && is_split_name(name)) {
    InputRequest input;
    input.inputs = {source};
    if (const auto folders = find_split_folders(input, events)) {
      names = folders->names;
      if (const auto found = folders->spelled.find(name); found != folders->spelled.end())
        return {join_path(source, found->second)};
    }
  }
  return {std::ranges::find(names, name) == names.end() ? source : join_path(source, name)};
}

std::vector<std::vector<std::string>> sources_of_splits(const std::vector<std::string>& sources,
                                                        const std::vector<std::string>& names,
                                                        const Events& events) {
  std::vector<std::vector<std::string>> all(names.size(), sources);
  const std::vector<NamedFolder> folders = find_named_folders(sources);
  const std::vector<SetOfSplit> files =
      sources.size() == 1 ? files_of_splits(sources.front()) : std::vector<SetOfSplit>();
  for (std::size_t i = 0; !files.empty() && i < names.size(); ++i) {
    const auto found = std::ranges::find(files, names[i], &SetOfSplit::split);
    if (found != files.end()) all[i] = paths_of(*found);
  }
  if (sources.size() == 1 && folders.empty() && files.empty()) {
    const std::vector<std::string> each = sources_of_one(sources.front(), names, events);
    for (std::size_t i = 0; i < names.size(); ++i) all[i] = {each[i]};
  }
  for (std::size_t i = 0; !folders.empty() && i < names.size(); ++i) {
    const Place place = look_at(join_path(folders.front().root, names[i]));
    if (place != Place::absent && place != Place::other_file) all[i] = words_of(folders, names[i]);
  }
  return all;
}

}  // namespace shale
