#include "shale/arrays/array_columns.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <fmt/ranges.h>

#include "shale/arrays/classes_beside.hpp"
#include "shale/base/error.hpp"
#include "shale/base/nearest_word.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/stored_tensor.hpp"
#include "shale/io/machine_limits.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

// One word of the command: a path, and the name that was given to it.
struct Word {
  std::string name, path;
};

Word split_word(const std::string& input) {
  const std::size_t equals = input.find('=');
  const bool is_path = equals == std::string::npos || input.find("://") != std::string::npos;
  if (is_path || facts_behind(input)) return {"", input};
  return {input.substr(0, equals), input.substr(equals + 1)};
}

// What has a name is an array, unless it is a folder: several of those are another input.
bool is_array_word(const Word& word, bool is_raw) {
  const std::optional<struct stat> facts = facts_behind(word.path);
  if (is_raw) return facts && S_ISREG(facts->st_mode);
  if (!word.name.empty()) return !facts || !S_ISDIR(facts->st_mode);
  return facts && S_ISREG(facts->st_mode) && is_array_file(InputFile(word.path));
}

// The first ones: a checkpoint may have thousands.
std::string names_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNamed = 20;
  const std::span first = std::span(names).first(std::min(kMostNamed, names.size()));
  const std::string text = fmt::format("{}", fmt::join(first, ", "));
  return names.size() > kMostNamed ? fmt::format("{} and {} more", text, names.size() - kMostNamed)
                                   : text;
}

std::string type_text(const ArrayFile& array) {
  return array_text(array.dtype, std::span(array.shape).subspan(1));
}

// What the user may call an array: the name of its field, or that in the file.
struct Names {
  std::string field, member;
  [[nodiscard]] bool has(const std::string& name) const { return name == field || name == member; }
};

void add_array(std::vector<ArrayColumn>& columns, const Names& names, ArrayFile array) {
  auto column = std::find_if(columns.begin(), columns.end(), [&](const ArrayColumn& other) {
    return other.name == names.field && other.member == names.member;
  });
  if (column == columns.end()) {
    columns.push_back({names.field, names.member, {}});
    column = std::prev(columns.end());
  } else {
    const ArrayFile& first = column->arrays.front();
    const bool is_alike =
        array.dtype == first.dtype && std::equal(array.shape.begin() + 1, array.shape.end(),
                                                 first.shape.begin() + 1, first.shape.end());
    if (!is_alike) {
      throw Error(Code::schema, "rows of field '{}' are {} here, but {} before",
                  printable(names.field), type_text(array), type_text(first))
          .at(array.path())
          .hint("give arrays of different fields different names, as in x=a.npy y=b.npy");
    }
  }
  column->arrays.push_back(std::move(array));
}

// What the words of a command hold.
struct Found {
  std::vector<ArrayColumn> columns;
  std::vector<std::pair<Names, UnreadArray>> unread;
  std::vector<std::string> notes;
  LeftOutList left_out;
};

// What is opened for each read.
std::shared_ptr<const InputFile> closed(const std::string& path) {
  const auto file = std::make_shared<InputFile>(path);
  file->close();
  return file;
}

void add_word(const Word& word, const ArrayChoice& choice, bool stays_open, Found& found) {
  ArrayReading reading = choice.reading;
  reading.takes_truncated = reading.takes_truncated && choice.axes.empty();
  ArrayFiles files = open_arrays(word.path, reading);
  if (!stays_open) {
    const std::shared_ptr<const InputFile> file = closed(word.path);
    for (ArrayFile& array : files.arrays) {
      if (!array.is_in_memory) array.file = file;
    }
  }
  if (!files.left_out.empty()) {
    found.notes.push_back(fmt::format("{}: leaving out members that are not arrays: {}",
                                      printable(word.path), printable(names_of(files.left_out))));
  }
  if (!files.single.empty())
    found.notes.push_back(fmt::format("{}: passing over what is not a column: {}",
                                      printable(word.path), printable(names_of(files.single))));
  for (const std::string& member : files.left_out)
    found.left_out.add({.kind = "member", .name = member, .reason = "not_an_array"});
  if (!word.name.empty() && files.arrays.size() > 1) {
    std::vector<std::string> members;
    for (const ArrayFile& array : files.arrays) members.push_back(printable(array.member));
    throw Error(Code::usage, "the name '{}' is given to {} arrays", printable(word.name),
                files.arrays.size())
        .at(word.path)
        .hint(fmt::format("name the archive alone and pick with --fields; it has {}",
                          names_of(members)));
  }
  const auto names = [&](const std::string& member) {
    if (!word.name.empty()) return Names{word.name, word.name};
    const std::string field = column_name_of(member);
    return Names{field, member.empty() ? field : member};
  };
  for (ArrayFile& array : files.arrays) {
    const Names both = names(array.member);
    if (const SampleAxis* axis = axis_of(choice.axes, both.member, both.field))
      array.put_first(axis->among(array.shape.size()));
    add_array(found.columns, both, std::move(array));
  }
  for (UnreadArray& array : files.unread)
    found.unread.emplace_back(Names{column_name_of(array.member), array.member}, std::move(array));
}

// The name in the file decides; that of the field may stand for several.
std::vector<ArrayColumn> named(const std::vector<ArrayColumn>& columns, const std::string& field) {
  std::vector<ArrayColumn> by_field;
  for (const ArrayColumn& column : columns) {
    if (column.member == field) return {column};
    if (column.name == field) by_field.push_back(column);
  }
  return by_field;
}

Error not_there(const Found& found, const std::string& field, std::string_view option) {
  std::vector<std::string> names, shown;
  for (const ArrayColumn& column : found.columns) {
    names.push_back(column.member);
    shown.push_back(printable(column.member));
  }
  Error error(Code::usage, "{}: '{}' is not one of the arrays", option, printable(field));
  error.hint(did_you_mean(field, names)).hint("the input has " + names_of(shown));
  return error;
}

void check_axes(const std::vector<SampleAxis>& axes, const Found& found) {
  for (const SampleAxis& axis : axes) {
    if (named(found.columns, axis.name).empty()) throw not_there(found, axis.name, "--axis");
  }
}

std::vector<ArrayColumn> selected(const Found& found, const std::vector<std::string>& fields) {
  std::vector<ArrayColumn> chosen;
  for (const std::string& field : fields) {
    const std::vector<ArrayColumn> columns = named(found.columns, field);
    if (columns.empty()) {
      for (const auto& [names, array] : found.unread) {
        if (names.has(field)) throw array.error;
      }
      throw not_there(found, field, "--fields");
    }
    for (const ArrayColumn& column : columns) {
      const bool is_twice = std::ranges::any_of(chosen, [&](const ArrayColumn& other) {
        return other.name == column.name && other.member == column.member;
      });
      if (is_twice)
        throw Error(Code::usage, "--fields: '{}' is named twice", printable(field))
            .hint("name each array once");
      chosen.push_back(column);
    }
  }
  return chosen;
}

// By the name in the file, or that of the field.
void drop(Found& found, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    const auto is_it = [&](const ArrayColumn& column) {
      return column.member == field || column.name == field;
    };
    const auto is_unread = [&](const auto& unread) { return unread.first.has(field); };
    if (std::ranges::none_of(found.columns, is_it) && std::ranges::none_of(found.unread, is_unread))
      throw not_there(found, field, "--drop");
    if (std::ranges::all_of(found.columns, is_it)) {
      throw Error(Code::usage, "--drop: '{}' is the last of the arrays", printable(field))
          .hint("leave it out");
    }
    std::erase_if(found.columns, is_it);
    std::erase_if(found.unread, is_unread);
  }
}

// Without names everything is taken that a field can hold, and what none can is left out.
void leave_out_unread(const Found& found, LeftOutList& left_out) {
  for (const auto& [names, array] : found.unread) {
    if (!array.reason.empty()) {
      left_out.add({.kind = "member", .name = array.member, .reason = array.reason});
      continue;
    }
    Error error = array.error;
    error.hint("pick others with --fields");
    throw error;
  }
}

void check_columns(const std::vector<ArrayColumn>& columns) {
  std::map<std::string_view, const ArrayColumn*> by_name;
  for (const ArrayColumn& column : columns) {
    const auto [other, is_first] = by_name.emplace(column.name, &column);
    if (!is_first) {
      throw Error(Code::unsupported, "arrays '{}' and '{}' would both be the field '{}'",
                  printable(other->second->member), printable(column.member),
                  printable(column.name))
          .at(column.arrays.front().path())
          .hint(fmt::format("pick one of them: --fields {}", printable(column.member)));
    }
    if (column.rows() == columns.front().rows()) continue;
    throw Error(Code::schema, "column '{}' has {} rows, but '{}' has {}", printable(column.name),
                column.rows(), printable(columns.front().name), columns.front().rows())
        .at(column.arrays.front().path())
        .hint(
            "columns are zipped into samples, so they need equal lengths; pick those that belong "
            "together with --fields");
  }
}

void take_classes(const std::string& path, const ArrayChoice& choice, ArrayColumns& columns) {
  if (choice.reading.raw.is_given()) return;
  std::vector<std::string> labels;
  for (const ArrayColumn& column : columns.columns) {
    const ArrayFile& array = column.arrays.front();
    const bool is_integer =
        std::string_view("iu").find(array.dtype.descr()[1]) != std::string_view::npos;
    if (array.shape.size() == 1 && is_integer) labels.push_back(column.member);
  }
  ClassesBeside classes = classes_beside(path, labels);
  if (classes.fields.size() > 1) {
    columns.notes.push_back(fmt::format(
        "{} names the classes of {}: pick one of them with --fields to have them in the result",
        printable(classes.path), printable(names_of(classes.fields))));
  }
  columns.classes = std::move(classes.names);
}

}  // namespace

std::uint64_t ArrayColumn::rows() const {
  std::uint64_t rows = 0;
  for (const ArrayFile& array : arrays) rows += array.shape.front();
  return rows;
}

std::string path_in_word(const std::string& input) { return split_word(input).path; }

std::optional<ArrayColumns> find_array_columns(const std::vector<std::string>& inputs,
                                               const ArrayChoice& choice) {
  std::vector<Word> words;
  words.reserve(inputs.size());
  const auto is_array = [&](const Word& word) {
    return is_array_word(word, choice.reading.raw.is_given());
  };
  for (const std::string& input : inputs) words.push_back(split_word(input));
  const auto arrays = std::ranges::count_if(words, is_array);
  if (arrays == 0) return std::nullopt;
  if (static_cast<std::size_t>(arrays) < words.size()) {
    const auto other = std::ranges::find_if_not(words, is_array);
    throw Error(Code::usage, "is not an array, but other inputs are")
        .at(other->path)
        .hint("pass only .npy, .npz, .pt or .safetensors files, or a single input");
  }
  Found found;
  constexpr std::uint64_t kOtherFiles = 40;  // of the output, and what is scratch
  const bool stay_open = allow_open_files(words.size() + kOtherFiles);
  for (const Word& word : words) add_word(word, choice, stay_open, found);
  check_axes(choice.axes, found);
  drop(found, choice.dropped);
  ArrayColumns result;
  if (choice.fields.empty()) {
    result = {.columns = std::move(found.columns),
              .notes = std::move(found.notes),
              .left_out = std::move(found.left_out)};
    leave_out_unread(found, result.left_out);
  } else {
    // Whoever names the fields has decided what to leave out.
    result.columns = selected(found, choice.fields);
  }
  check_columns(result.columns);
  take_classes(words.front().path, choice, result);
  return result;
}

}  // namespace shale
