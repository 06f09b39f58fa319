#include "shale/arrays/array_columns.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/nearest_word.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

constexpr std::string_view kLoneColumn = "x";

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
bool is_array_word(const Word& word) {
  const std::optional<struct stat> facts = facts_behind(word.path);
  if (!word.name.empty()) return !facts || !S_ISDIR(facts->st_mode);
  return facts && S_ISREG(facts->st_mode) && is_array_file(InputFile(word.path));
}

std::string names_of(const std::vector<ArrayColumn>& columns) {
  std::string names;
  for (const ArrayColumn& column : columns)
    names += (names.empty() ? "" : ", ") + printable(column.name);
  return names;
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

void add_array(std::vector<ArrayColumn>& columns, const std::string& name, ArrayFile array) {
  auto column = std::find_if(columns.begin(), columns.end(),
                             [&](const ArrayColumn& other) { return other.name == name; });
  if (column == columns.end()) {
    columns.push_back({name, {}});
    column = std::prev(columns.end());
  } else {
    const ArrayFile& first = column->arrays.front();
    const bool is_alike =
        array.dtype == first.dtype && std::equal(array.shape.begin() + 1, array.shape.end(),
                                                 first.shape.begin() + 1, first.shape.end());
    if (!is_alike) {
      throw Error(Code::schema, "rows of field '{}' are {} here, but {} before", printable(name),
                  type_text(array), type_text(first))
          .at(array.file->path())
          .hint("give arrays of different fields different names, as in x=a.npy y=b.npy");
    }
  }
  column->arrays.push_back(std::move(array));
}

void add_word(const Word& word, ArrayColumns& found) {
  ArrayFiles files = open_arrays(word.path);
  if (!files.left_out.empty()) {
    found.notes.push_back(fmt::format("{}: leaving out members that are not arrays: {}",
                                      printable(word.path), printable(names_of(files.left_out))));
  }
  for (const std::string& member : files.left_out)
    found.left_out.add({.kind = "member", .name = member, .reason = "not_an_array"});
  if (!word.name.empty() && files.arrays.size() > 1) {
    std::string members;
    for (const ArrayFile& array : files.arrays)
      members += (members.empty() ? "" : ", ") + printable(array.member);
    throw Error(Code::usage, "the name '{}' is given to {} arrays", printable(word.name),
                files.arrays.size())
        .at(word.path)
        .hint(fmt::format("name the archive alone and pick with --fields; it has {}", members));
  }
  for (ArrayFile& array : files.arrays) {
    const std::string name = !word.name.empty()     ? word.name
                             : array.member.empty() ? std::string(kLoneColumn)
                                                    : array.member;
    add_array(found.columns, name, std::move(array));
  }
}

std::vector<ArrayColumn> selected(const std::vector<ArrayColumn>& columns,
                                  const std::vector<std::string>& fields) {
  if (fields.empty()) return columns;
  std::vector<ArrayColumn> chosen;
  const auto find_in = [](const std::vector<ArrayColumn>& among, const std::string& field) {
    return std::find_if(among.begin(), among.end(),
                        [&](const ArrayColumn& other) { return other.name == field; });
  };
  for (const std::string& field : fields) {
    const auto column = find_in(columns, field);
    if (column == columns.end() || find_in(chosen, field) != chosen.end()) {
      std::vector<std::string> names;
      names.reserve(columns.size());
      for (const ArrayColumn& other : columns) names.push_back(other.name);
      throw Error(Code::usage, "--fields: '{}' is {}", printable(field),
                  column == columns.end() ? "not one of the arrays" : "named twice")
          .hint(did_you_mean(field, names))
          .hint("the input has " + names_of(columns));
    }
    chosen.push_back(*column);
  }
  return chosen;
}

void check_columns(const std::vector<ArrayColumn>& columns) {
  for (const ArrayColumn& column : columns) {
    for (const ArrayFile& array : column.arrays) {
      if (array.obstacle.empty()) continue;
      Error error(Code::unsupported, "tensor '{}' {}", printable(column.name), array.obstacle);
      error.at(array.file->path());
      if (columns.size() > 1) error.hint("pick others with --fields");
      throw error;
    }
  }
  for (const ArrayColumn& column : columns) {
    if (column.rows() == columns.front().rows()) continue;
    throw Error(Code::schema, "column '{}' has {} rows, but '{}' has {}", printable(column.name),
                column.rows(), printable(columns.front().name), columns.front().rows())
        .at(column.arrays.front().file->path())
        .hint(
            "columns are zipped into samples, so they need equal lengths; pick those that belong "
            "together with --fields");
  }
}

}  // namespace

std::uint64_t ArrayColumn::rows() const {
  std::uint64_t rows = 0;
  for (const ArrayFile& array : arrays) rows += array.shape.front();
  return rows;
}

std::string path_in_word(const std::string& input) { return split_word(input).path; }

std::optional<ArrayColumns> find_array_columns(const std::vector<std::string>& inputs,
                                               const std::vector<std::string>& fields) {
  std::vector<Word> words;
  std::size_t arrays = 0;
  for (const std::string& input : inputs) {
    words.push_back(split_word(input));
    arrays += is_array_word(words.back()) ? 1 : 0;
  }
  if (arrays == 0) return std::nullopt;
  if (arrays < words.size()) {
    const auto other = std::find_if_not(words.begin(), words.end(), is_array_word);
    throw Error(Code::usage, "is not an array, but other inputs are")
        .at(other->path)
        .hint("pass only .npy, .npz, .pt or .safetensors files, or a single input");
  }
  ArrayColumns found;
  for (const Word& word : words) add_word(word, found);
  found.columns = selected(found.columns, fields);
  // Whoever names the fields has decided what to leave out.
  if (!fields.empty()) found.left_out = {};
  check_columns(found.columns);
  return found;
}

}  // namespace shale
