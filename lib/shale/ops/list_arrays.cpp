#include "shale/ops/list_arrays.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shale/arrays/array_file.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_name.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/format/format.hpp"

namespace shale {
namespace {

FileContents contents_of(const ArrayFiles& found, std::string_view format) {
  const bool is_archive = !found.arrays.empty() && found.arrays[0].archived;
  const std::string_view noun = is_archive ? "member" : "tensor";
  FileContents contents{.format = format, .noun = noun, .arrays = {}};
  for (const ArrayFile& array : found.arrays) {
    const std::optional<ZipMember>& member = array.archived;
    contents.arrays.push_back({.path = array.member,
                               .type = dtype_text(array.dtype),
                               .shape = array.shape,
                               .stored_bytes = member ? member->data_bytes : array.bytes(),
                               .compression = member && member->is_deflated ? "deflate" : ""});
  }
  for (const UnreadArray& array : found.unread) {
    contents.arrays.push_back(
        {.path = array.member, .type = "unknown", .obstacle = array.error.message()});
  }
  for (const std::string& other : found.left_out)
    contents.others.push_back(fmt::format("{} '{}'", noun, other));
  return contents;
}

// What lies there is of the file, not of its samples.
constexpr std::string_view kMetadata = "metadata/";

// Columns that have as many rows, and are of one split.
struct Table {
  std::string split;
  std::uint64_t rows = 0;
  std::vector<const ListedArray*> columns;
  std::vector<const ListedArray*> turned = {};  // whose last side is as long as there are rows

  [[nodiscard]] bool is_fixed() const {
    const auto has = [](const ListedArray* one) { return one->is_fixed; };
    return std::ranges::all_of(columns, has) && std::ranges::all_of(turned, has);
  }
};

std::vector<Table> tables_in(const FileContents& contents) {
  std::map<std::pair<std::string, std::uint64_t>, Table> found;
  for (const ListedArray& array : contents.arrays) {
    if (!array.is_column() || array.path.starts_with(kMetadata)) continue;
    const std::string split(split_in(array.path));
    Table& table = found[{split, array.shape[0]}];
    table.split = split;
    table.rows = array.shape[0];
    table.columns.push_back(&array);
  }
  std::vector<Table> tables;
  tables.reserve(found.size());
  for (auto& [key, table] : found) tables.push_back(std::move(table));
  std::ranges::stable_sort(tables, std::greater<>(), [](const Table& table) {
    return std::pair(table.columns.size(), table.rows);
  });
  return tables;
}

struct SplitColumn {
  std::string split, name;  ///< "train", "images"
};

// Of an array that is named after a split; nullopt for any other, and where it cannot be a column.
std::optional<SplitColumn> split_column(const ListedArray& array, SplitBy by) {
  const std::string_view path = array.path;
  const std::string_view split = split_in(path);
  if (!array.is_column() || split.empty() || path.size() < split.size() + 2) return std::nullopt;
  const bool is_prefix = path.starts_with(split);
  if (is_prefix != (by == SplitBy::prefix)) return std::nullopt;
  return SplitColumn{std::string(split),
                     field_name_of(is_prefix ? path.substr(split.size() + 1)
                                             : path.substr(0, path.size() - split.size() - 1))};
}

// Whether each split is a table, and all tables are splits.
bool are_split_by(const FileContents& contents, const std::vector<Table>& tables, SplitBy by) {
  std::set<std::string_view> splits;
  const auto is_split = [&](const Table& table) {
    return splits.insert(table.split).second &&
           std::ranges::all_of(table.columns, [by](const ListedArray* column) {
             return split_column(*column, by).has_value();
           });
  };
  return contents.more == 0 && tables.size() > 1 && std::ranges::all_of(tables, is_split);
}

std::string_view word_of(SplitBy by) { return by == SplitBy::prefix ? "prefix" : "suffix"; }

// What MATLAB wrote has its samples along the last axis.
void add_turned(std::vector<Table>& tables) {
  if (tables.empty() || tables[0].columns.size() < 2) return;
  Table& most = tables[0];
  for (std::size_t i = 1; i < tables.size(); ++i) {
    if (tables[i].columns.size() > 1 || tables[i].split != most.split) continue;
    const ListedArray& array = *tables[i].columns[0];
    if (array.shape.size() > 1 && array.shape.back() == most.rows) most.turned.push_back(&array);
  }
  std::erase_if(tables, [&](const Table& table) {
    return std::ranges::find(tables[0].turned, table.columns[0]) != tables[0].turned.end();
  });
}

void append_word(std::string& words, const std::string& name) {
  if (!words.empty()) words += ',';
  for (const char c : name) {
    if (c == ',' || c == '\\') words += '\\';
    words += c;
  }
}

// One that holds arrays and nothing else, or one that holds anything.
const Format& format_for(bool is_fixed) {
  for (const Format* format : all_formats()) {
    if (is_fixed ? format->tensors != nullptr : format->can.holds_ragged) return *format;
  }
  throw Error(Code::bug, "no format holds the arrays of a file");
}

std::string command_of(const Table& table, const std::string& path, const std::string& output,
                       bool has_all) {
  std::string fields, axes;
  for (const ListedArray* column : table.columns) append_word(fields, column->path);
  for (const ListedArray* column : table.turned) {
    append_word(fields, column->path);
    append_word(axes, column->path + "=-1");
  }
  std::string command = fmt::format("shale convert {} {} --to {}", shell_word(path), output,
                                    format_for(table.is_fixed()).name);
  if (!has_all) command += " --fields " + shell_word(fields);
  if (!axes.empty()) command += " --axis " + shell_word(axes);
  return command;
}

// Whether groups have datasets of the same name: without --fields it is not clear what they are.
bool has_alike_groups(const Table& table) {
  std::set<std::string_view> names;
  return std::ranges::any_of(table.columns, [&](const ListedArray* column) {
    const std::string_view path = column->path;
    return !names.insert(path.substr(path.rfind('/') + 1)).second;
  });
}

// Arrays that are alike, but have other lengths, are samples.
bool may_be_samples(const FileContents& contents, const std::vector<Table>& tables) {
  const auto has_split = [](const Table& table) { return !table.split.empty(); };
  if (!contents.samples || tables.size() < 2 || std::ranges::any_of(tables, has_split))
    return false;
  const ListedArray* first = nullptr;
  for (const ListedArray& array : contents.arrays) {
    if (first == nullptr) first = &array;
    if (!array.is_column() || array.type != first->type ||
        array.shape.size() != first->shape.size())
      return false;
  }
  return true;
}

// Whether each group has several arrays, and all of them as many rows.
bool are_episodes(const FileContents& contents) {
  const std::string& parent = contents.samples->parent;
  const std::size_t begin = parent == "/" ? 0 : parent.size() + 1;
  std::map<std::string, std::pair<std::uint64_t, std::size_t>> groups;
  for (const ListedArray& array : contents.arrays) {
    if (!array.is_column()) continue;
    const std::string group = array.path.substr(0, array.path.find('/', begin));
    auto& [rows, count] = groups.try_emplace(group, array.shape[0], 0).first->second;
    if (rows != array.shape[0] || rows < 2) return false;
    ++count;
  }
  return !groups.empty() &&
         std::ranges::all_of(groups, [](const auto& group) { return group.second.second > 1; });
}

}  // namespace

std::optional<FileContents> list_arrays(const std::string& path, const Events& events) {
  const std::optional<std::string> name = file_of_path(path);
  if (!name) return std::nullopt;
  const InputFile file(*name);
  const Format* const format = detect_file(file);
  if (format == nullptr) return std::nullopt;
  if (format->list_contents != nullptr) return format->list_contents(file, events.of_walk());
  if (format->tensors == nullptr) return std::nullopt;
  const ArrayFiles found = open_arrays(*name);
  if (found.arrays.size() == 1 && found.arrays[0].member.empty()) return std::nullopt;
  return contents_of(found, format->name);
}

SplitFolders find_split_columns(const InputRequest& request, const Events& events) {
  const std::string& input = request.inputs.front();
  std::optional<FileContents> contents;
  if (request.inputs.size() == 1 && input != "-") contents = list_arrays(input, events);
  if (!contents) {
    throw Error(Code::usage, "--split-by: the input is not a file of named arrays")
        .at(input)
        .hint("it is for one HDF5, .npz, .pt or .safetensors file; leave it out");
  }
  std::map<std::string, FieldChoice> found;
  SplitFolders splits;
  for (const ListedArray& array : contents->arrays) {
    std::optional<SplitColumn> column = split_column(array, request.split_by);
    if (!column) {
      constexpr std::size_t kShown = 3;
      if (++splits.others <= kShown) splits.beside.push_back(array.path);
      continue;
    }
    FieldChoice& fields = found[column->split];
    if (std::ranges::find(fields.renamed, column->name, &FieldName::name) != fields.renamed.end()) {
      throw Error(Code::bad_content, "two arrays of the split '{}' would be called '{}'",
                  column->split, printable(column->name))
          .at(input)
          .hint("run once for each split, with --fields and --rename");
    }
    fields.only.push_back(array.path);
    fields.renamed.push_back({.of_input = array.path, .name = std::move(column->name)});
  }
  if (found.empty()) {
    throw Error(Code::usage, "--split-by {}: no array is named after a split",
                word_of(request.split_by))
        .at(input)
        .hint(
            "names are train_x or train/x with prefix, x_train with suffix; 'shale info' lists "
            "them");
  }
  splits.others += contents->others.size() + contents->more;
  for (auto& [name, fields] : found) {
    const auto at = name == "train" ? 0 : static_cast<std::ptrdiff_t>(splits.names.size());
    splits.names.insert(splits.names.begin() + at, name);
    splits.columns.insert(splits.columns.begin() + at, std::move(fields));
  }
  return splits;
}

std::vector<std::string> convert_commands(const FileContents& contents, const std::string& path,
                                          std::string_view output, bool is_set) {
  const auto output_word = [&](std::string_view suffix) {
    return shell_word(fmt::format("{}{}", output, suffix));
  };
  const auto convert = [&](std::string_view suffix) {
    return fmt::format("shale convert {} {} --to {}", shell_word(path), output_word(suffix),
                       format_for(false).name);
  };
  if (contents.is_known) return {convert("")};
  if (contents.samples && contents.samples->is_clear) {
    std::vector<std::string> commands = {convert("") + contents.samples->option};
    if (are_episodes(contents)) commands.push_back(convert("-steps") + " --parse episodes");
    return commands;
  }
  std::vector<Table> tables = tables_in(contents);
  if (may_be_samples(contents, tables)) return {convert("") + " --parse samples"};
  for (const SplitBy by : {SplitBy::prefix, SplitBy::suffix}) {
    if (is_set || !are_split_by(contents, tables, by)) continue;
    const bool is_fixed = std::ranges::all_of(tables, &Table::is_fixed);
    return {fmt::format("shale convert {} {} --to {} --split-by {}", shell_word(path),
                        output_word(""), format_for(is_fixed).name, word_of(by))};
  }
  add_turned(tables);
  std::vector<std::string> commands;
  for (const Table& table : tables) {
    if (commands.size() == kMostCommands) break;
    const bool has_all = table.turned.empty() && table.columns.size() == contents.arrays.size() &&
                         contents.others.empty() && contents.more == 0 && !has_alike_groups(table);
    const std::string suffix = !table.split.empty() ? "-" + table.split
                               : commands.empty()   ? ""
                                                    : fmt::format("-{}", commands.size() + 1);
    commands.push_back(command_of(table, path, output_word(suffix), has_all));
  }
  return commands;
}

}  // namespace shale
