#include "shale/sources/joined_words.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/stream_path.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/arrays/array_file.hpp"
#include "shale/arrays/classes_beside.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_name.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/format/file_contents.hpp"
#include "shale/format/format.hpp"
#include "shale/image/probe.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/labels/table_source.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

using What = JoinedGroup::What;

// One word, and what it names.
struct NamedInput {
  std::string name = {}, path = {};
  std::optional<What> what = {};  // nullopt: there is nothing
  bool is_set_of_arrays = false;
};

bool is_array_at(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  return facts && S_ISREG(facts->st_mode) && is_array_file(InputFile(path));
}

// One whose samples are not found again, or that is none.
bool is_other_archive(const std::string& path) {
  return !archive_of_path(path) && (stream_of_path(path) || path.ends_with(".zip"));
}

NamedInput look_at_word(const std::string& word) {
  NamedInput input{.path = path_in_word(word)};
  if (input.path.size() == word.size()) return input;
  input.name = word.substr(0, word.size() - input.path.size() - 1);
  if (is_other_archive(input.path)) return input;
  if (archive_of_path(input.path)) {
    input.what = What::archive;
    return input;
  }
  if (is_array_at(input.path)) {
    input.what = What::arrays;
    return input;
  }
  const bool is_there = facts_behind(input.path).has_value();
  if (is_there && is_table(input.path)) {
    input.what = What::table;
    return input;
  }
  const Place place = is_there ? look_at(input.path) : Place::absent;
  if (place == Place::dataset || (is_there && file_of_path(input.path))) {
    input.what = What::other;
    return input;
  }
  if (const auto files = files_of_set(input.path)) {
    input.is_set_of_arrays = is_array_at(files->front().path);
    input.what = input.is_set_of_arrays ? What::arrays : What::other;
  } else if (place == Place::empty_folder || place == Place::other_folder) {
    input.what = What::folders;
  } else if (is_there) {
    input.what = What::other;
  }
  return input;
}

void refuse_odd(const std::vector<NamedInput>& inputs) {
  std::set<std::string_view> names;
  for (const NamedInput& input : inputs) {
    if (is_other_archive(input.path)) {
      throw Error(Code::unsupported, "is an archive that cannot be joined with other inputs")
          .at(input.path)
          .hint("decompress it, or convert it first, and name the result");
    }
    if (!input.what) throw absent(input.path);
    if (!names.insert(input.name).second && input.what != What::arrays) {
      throw Error(Code::usage, "the name '{}' is given to two inputs", printable(input.name))
          .at(input.path)
          .hint("give each input a name of its own");
    }
  }
}

// The axis of an array of the group, as it is called there: "x=-1" where x is an array, "x/images"
// where it is an input with several.
std::optional<SampleAxis> axis_in(const JoinedGroup& group, const SampleAxis& axis) {
  if (group.what == What::arrays) {
    const bool is_here = std::ranges::find(group.names, axis.name) != group.names.end();
    return is_here ? std::optional(axis) : std::nullopt;
  }
  const std::string front = group.name + "/";
  if (group.what != What::other || !axis.name.starts_with(front)) return std::nullopt;
  return SampleAxis{axis.name.substr(front.size()), axis.axis};
}

// What a file with named arrays would be one table of.
struct TableOfFile {
  std::vector<std::string> fields;
  std::uint64_t rows = 0;
};
std::optional<TableOfFile> table_in(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  if (!facts || !S_ISREG(facts->st_mode)) return std::nullopt;
  const InputFile file(path);
  const Format* const format = detect_file(file);
  if (format == nullptr || format->list_contents == nullptr) return std::nullopt;
  const FileContents contents = format->list_contents(file, {});
  const bool has_samples = contents.samples && contents.samples->is_clear;
  if (contents.is_known || has_samples || contents.more > 0) return std::nullopt;
  TableOfFile table;
  for (const ListedArray& array : contents.arrays) {
    if (!array.is_column()) continue;
    if (!table.fields.empty() && array.shape[0] != table.rows) return std::nullopt;
    table.rows = array.shape[0];
    table.fields.push_back(field_name_of(array.path));
  }
  return table.fields.empty() ? std::nullopt : std::optional(std::move(table));
}

std::string unique_name(const TableOfFile& table, std::set<std::string>& taken) {
  std::string name = table.fields.front();
  while (!taken.insert(name).second) name += '_';
  return name;
}

}  // namespace

std::vector<std::string> joined_by_fields(const std::vector<std::string>& words) {
  constexpr std::size_t kMostFiles = 16;
  if (words.size() < 2 || words.size() > kMostFiles) return {};
  std::vector<std::string> named;
  std::set<std::string> fields, names;
  std::uint64_t rows = 0;
  for (const std::string& word : words) {
    const std::optional<TableOfFile> table = table_in(word);
    if (!table || (!named.empty() && table->rows != rows)) return {};
    for (const std::string& field : table->fields)
      if (!fields.insert(field).second) return {};
    rows = table->rows;
    named.push_back(fmt::format("{}={}", unique_name(*table, names), word));
  }
  return named;
}

std::vector<JoinedGroup> find_joined_groups(const std::vector<std::string>& bare) {
  if (bare.size() < 2) return {};
  const auto has_no_name = [](const std::string& word) {
    return path_in_word(word).size() == word.size();
  };
  // Most words have no name.
  const bool is_bare = std::ranges::all_of(bare, has_no_name);
  const std::vector<std::string> words = is_bare ? joined_by_fields(bare) : bare;
  if (words.empty() || std::ranges::any_of(words, has_no_name)) return {};
  std::vector<NamedInput> inputs;
  inputs.reserve(words.size());
  for (const std::string& word : words) inputs.push_back(look_at_word(word));
  const auto are_all = [&](What what) {
    return std::ranges::all_of(
        inputs, [&](const NamedInput& one) { return !one.what || one.what == what; });
  };
  const bool has_sets = std::ranges::any_of(inputs, &NamedInput::is_set_of_arrays);
  const auto holds_files = [](const NamedInput& one) {
    return one.what == What::folders || one.what == What::archive;
  };
  if (std::ranges::all_of(inputs, holds_files) || (are_all(What::arrays) && !has_sets)) return {};
  refuse_odd(inputs);
  std::vector<JoinedGroup> groups;
  for (NamedInput& input : inputs) {
    const auto same = std::ranges::find(groups, *input.what, &JoinedGroup::what);
    const bool is_new =
        same == groups.end() || (*input.what != What::arrays && *input.what != What::folders);
    JoinedGroup& group = is_new ? groups.emplace_back(JoinedGroup{.what = *input.what,
                                                                  .name = input.name,
                                                                  .path = input.path,
                                                                  .words = {},
                                                                  .names = {}})
                                : *same;
    group.words.push_back(input.name + "=" + input.path);
    group.names.push_back(input.name);
  }
  for (JoinedGroup& group : groups) {
    // One folder, or anything else, is opened as it is.
    if (group.what == What::arrays || group.words.size() > 1) continue;
    group.words = {group.path};
    group.names.clear();
  }
  return groups;
}

void refuse_axes_of_none(const std::vector<SampleAxis>& axes,
                         const std::vector<JoinedGroup>& groups) {
  for (const SampleAxis& axis : axes) {
    const bool is_of_any = std::ranges::any_of(
        groups, [&](const JoinedGroup& group) { return axis_in(group, axis).has_value(); });
    if (is_of_any) continue;
    throw Error(Code::usage, "--axis: '{}' is not an array of these inputs", printable(axis.name))
        .at(groups.front().path)
        .hint(
            "name an input that is an array, as in --axis x=-1, or an array in a file, as in "
            "--axis x/images=-1");
  }
}

InputRequest input_of_group(const InputRequest& request, const JoinedGroup& group) {
  InputRequest one = request;
  one.inputs = group.words;
  one.join = {};
  one.order = {};
  one.images = {};
  one.fields = {};
  one.axes.clear();
  for (const SampleAxis& axis : request.axes) {
    if (std::optional<SampleAxis> own = axis_in(group, axis)) one.axes.push_back(*std::move(own));
  }
  if (group.is_of_files()) {
    one.container = {};
    one.files.may_be_flat = true;  // another input may have the labels
  } else {
    one.labels = {};
    one.classes = {};
    one.files = {.pairs = {.policy = PairPolicy::automatic}};
  }
  if (group.what == What::arrays) one.container = {};
  return one;
}

namespace {

// The words that join MNIST's images with their labels, as for a shell in quotes; empty: `name` is
// not that of its images ("train-images-idx3-ubyte.gz").
std::string join_of_idx(const std::string& folder, const std::string& name) {
  constexpr std::string_view kImages = "images-idx3", kLabels = "labels-idx1";
  const std::size_t at = name.rfind(kImages);
  if (at == std::string::npos) return {};
  std::string labels = name;
  labels.replace(at, kImages.size(), kLabels);
  return fmt::format("image={}\" \"label={}", printable(join_path(folder, name)),
                     printable(join_path(folder, labels)));
}

}  // namespace

void refuse_other_files(const std::string& folder) {
  const std::optional<struct stat> manifest = facts_behind(join_path(folder, kManifestName));
  if (has_shards(folder) || (manifest && !S_ISREG(manifest->st_mode))) throw unrecognized(folder);
  constexpr int kMostLookedAt = 1000;
  int looked_at = 0;
  bool has_image = false;
  std::string other, words;
  visit_names(folder, [&](const std::string& name) {
    has_image = has_image || has_image_suffix(name);
    for (const Format* format : all_formats()) {
      for (const std::string_view suffix : format->suffixes) {
        if (!name.ends_with(suffix)) continue;
        other = name;
        words = printable(join_path(folder, "*" + std::string(suffix)));
      }
    }
    if (const std::string idx = join_of_idx(folder, name); !idx.empty())
      std::tie(other, words) = std::tie(name, idx);
    return !has_image && ++looked_at < kMostLookedAt;
  });
  if (has_image) return;
  if (other.empty() && !(other = pickle_in(folder)).empty())
    words = printable(join_path(folder, other));
  if (other.empty()) return refuse_known_files(folder);
  throw Error(Code::unsupported, "holds no images, but files such as '{}'", printable(other))
      .at(folder)
      .hint(fmt::format(
          "convert the files of one kind, as in 'shale convert \"{}\" OUT --to FORMAT'", words));
}

}  // namespace shale
