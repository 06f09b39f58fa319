#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "shale/base/nearest_word.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/browse/indexed_join.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/format/format.hpp"
#include "shale/loading/loader.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/ops/inspect.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/listed_arrays.hpp"
#include "tools/split_paths.hpp"

namespace shale::tools {
namespace {

std::string fields_text(const Schema& schema, RowStorage rows) {
  std::string text;
  for (Field field : schema.fields) {
    if (const std::optional<DType> dtype = stored_dtype_of(field, rows)) field.dtype = *dtype;
    text += (text.empty() ? "" : ", ") + field_text(field);
  }
  return text;
}

// `list` names a list of the dataset, `add` adds a line.
void add_images(const ImageReport& images, const std::function<std::string(std::string_view)>& list,
                const std::function<void(std::string_view, const std::string&)>& add) {
  if (!images.odd.empty()) add("odd", counts_text(images.odd) + list(kImagesName));
  if (!images.sizes.is_empty()) {
    add("sizes", sizes_text(images.sizes));
    add("shapes", shapes_text(images.sizes));
  }
  if (images.duplicates && images.duplicates->samples > 0)
    add("repeats", duplicates_text(*images.duplicates) + list(kDuplicatesName));
}

constexpr std::string_view kJoinedInputs = "inputs that are joined";

// What is at the path.
std::string title_of(const DatasetInfo& info, const DatasetRequest& request,
                     std::string_view join) {
  const Manifest& manifest = info.manifest;
  const std::string& name = request.path;
  if (info.is_join()) return fmt::format("{}: {}, not indexed", printable(name), join);
  if (!manifest.layout.is_of_one_file())
    return fmt::format("{}: {} {} dataset by {}", printable(name),
                       info.bad_file_count > 0 ? "a damaged"
                       : info.knows_files      ? "a complete"
                                               : "a finished",
                       manifest.format, manifest.generator);
  const std::string_view without =
      manifest.layout.rows.has_index() ? "not indexed" : "needs no index";
  return fmt::format(
      "{}: {}, {}", printable(name),
      manifest.layout.dialect == Dialect::own ? fmt::format("one {} file of shale", manifest.format)
      : manifest.source.kind == kFileListKind
          ? fmt::format("a set of {} {} files", format_count(manifest.shard_count), manifest.format)
          : "a file of another tool",
      info.is_indexed ? "indexed by " + manifest.generator : without);
}

// `join`: what is read as joined inputs are.
std::string info_text(const DatasetInfo& info, const DatasetRequest& request,
                      std::string_view join = kJoinedInputs) {
  const Manifest& manifest = info.manifest;
  const bool is_set = !info.is_join() && !manifest.layout.is_of_one_file();
  const auto list = [&](std::string_view list_name) {
    const std::string lists = lists_text(manifest, list_name);
    return is_set ? fmt::format(" ({})", lists.empty() ? list_name : lists) : std::string();
  };
  std::string text = title_of(info, request, join) + "\n";
  const auto add = [&](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<9}{}\n", what, value);
  };
  add("samples", fmt::format("{}, {}; source: {}, {}", format_count(manifest.digest.samples),
                             payload_text(manifest),
                             info.is_join() ? join : std::string_view(manifest.source.kind),
                             format_count(manifest.source.samples)));
  if (!manifest.runs.empty()) {
    add("appended", format_counted(manifest.runs.size() - 1, "time", "times"));
  }
  if (manifest.part)
    add("part",
        fmt::format("{} of {}, counted from 0", manifest.part->index, manifest.part->count));
  add("shards", fmt::format("{}, {} of files, the largest {}", format_count(manifest.shard_count),
                            format_size(info.file_bytes), format_size(info.largest_file)));
  if (const std::string_view layout = layout_name_of(manifest.layout); !layout.empty())
    add("layout", std::string(layout));
  add("fields", fields_text(manifest.schema, manifest.layout.rows));
  if (!manifest.classes.empty()) {
    std::vector<std::string> first;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, manifest.classes.size()); ++i) {
      first.push_back(printable(manifest.classes[i]));
    }
    add("classes",
        fmt::format("{}: {}{}", format_count(manifest.classes.size()), fmt::join(first, ", "),
                    manifest.classes.size() > first.size() ? " ..." : ""));
  }
  if (!manifest.transform.empty()) {
    // One line per field: this is what tells the dataset from its source.
    for (const ManifestTransform& transform : manifest.transform) {
      add("work", fmt::format("{}; {}", text_of(transform), transform.codec));
    }
    if (manifest.images && !manifest.images->changed.empty())
      add("changed", counts_text(manifest.images->changed));
  }
  if (manifest.skipped > 0) add("skipped", format_count(manifest.skipped) + list(kSkippedName));
  if (manifest.left_out.count() > 0) add("left out", left_out_text(manifest.left_out));
  if (manifest.images) add_images(*manifest.images, list, add);
  if (manifest.layout.has_checksums) {
    add("content", manifest.digest.content.hex());
  } else if (!info.is_join()) {
    add("content", fmt::format("unknown: the payload was not read ('{}' reads it)",
                               index_command(request.path, request.index_folder,
                                             parsing_of(manifest.layout), true)));
  }
  for (const std::string& note : info.notes) add("note", note);
  if (info.contents) text += listed_arrays_text(info);
  if (info.bad_file_count > 0) {
    add("damage",
        fmt::format("{} missing, or of another size than the manifest says: {}{}",
                    format_counted(info.bad_file_count, "file is", "files are"),
                    printable(info.bad_files.front().name), info.bad_file_count > 1 ? " ..." : ""));
  }
  return text;
}

void write_bytes(const AnyBytes& bytes, const Field& field) {
  if (::isatty(STDOUT_FILENO) != 0 && field.kind != Kind::text && !field.holds_text()) {
    throw Error(Code::usage, "refusing to write {} bytes of field '{}' to a terminal", bytes.size(),
                field.name)
        .hint(
            "redirect stdout to a file or a pipe, or pass --json to see what the sample contains");
  }
  bytes.for_each_piece([](Bytes piece) { print(as_text(piece)); });
}

Error lacks_field(const FoundSample& found, std::size_t field) {
  return Error(Code::not_found, "sample '{}' lacks field '{}'", printable(found.sample.key),
               printable(found.schema.fields[field].name))
      .hint("--json lists the fields that it has");
}

void write_element(const FoundSample& found, std::size_t field, std::uint64_t number) {
  const Field& described = found.schema.fields[field];
  if (described.kind != Kind::list) {
    throw Error(Code::usage, "--element {}: field '{}' is not a list", number,
                printable(described.name))
        .hint("leave the option out, or name a field of kind list with --field");
  }
  const Value& list = found.sample.values[field];
  if (!is_list(list)) throw lacks_field(found, field);
  const std::uint64_t count = count_elements(list);
  if (number >= count)
    throw no_such_element(number, described.name, count).for_sample(found.sample.key, found.row);
  write_bytes(element_of(list, number), described);
}

// The bytes of a field as they are; a number, and each string of a list, as a line of text.
void write_field(const FoundSample& found, std::size_t field) {
  const Value& value = found.sample.values[field];
  if (std::holds_alternative<Bytes>(value) || std::holds_alternative<Unread>(value)) {
    write_bytes(run_of(value), found.schema.fields[field]);
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    print(fmt::format("{}\n", *integer));
  } else if (const auto* real = std::get_if<double>(&value)) {
    print(fmt::format("{}\n", *real));
  } else if (is_list(value)) {
    const Field& list = found.schema.fields[field];
    for (std::uint64_t i = 0; i < count_elements(value); ++i) {
      write_bytes(element_of(value, i), list);
      if (list.holds_text()) print("\n");
    }
  } else {
    throw lacks_field(found, field);
  }
}

}  // namespace

namespace {

// Each split of a directory: one that cannot be read is no reason to say nothing of the others.
int info_of_splits(const DatasetRequest& request, const std::vector<SplitPath>& splits,
                   Console& console) {
  Json json = {{"version", kInfoVersion}, {"complete", true}, {"kind", "splits"}};
  int code = kDone;
  for (const auto& [name, path] : splits) {
    DatasetRequest one = request;
    one.path = path;
    try {
      const DatasetInfo info = inspect(one, console.events(), "out-" + name);
      if (info.obstacle) {
        json["splits"][name] = arrays_facts(info);
        if (!console.is_json()) console.print(arrays_text(info, path));
        continue;
      }
      json["splits"][name] = info_facts(info);
      if (!info.is_complete) throw unfinished(one.path);
      if (!console.is_json()) console.print(info_text(info, one));
      if (info.bad_file_count > 0) {
        json["complete"] = false;
        code = std::max(code, kDamaged);
      }
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      const Error told = with_usual_hint(error, "info");
      console.failed(told);
      if (!json["splits"].contains(name)) json["splits"][name] = error_facts(told);
      json["complete"] = false;
      code = std::max(code, exit_code_of(error.code()));
    }
  }
  if (console.is_json()) console.report(json, "");
  return code;
}

}  // namespace

int run_info(const CommandLine& line, Console& console) {
  const DatasetRequest request = dataset_request(line);
  if (const std::vector<SplitPath> splits = splits_at(request.path); !splits.empty())
    return info_of_splits(request, splits, console);
  if (std::optional<InputRequest> input = listed_input(line)) {
    input->jobs = static_cast<unsigned>(granted_jobs({}).value);
    return info_of_input(*input, console);
  }
  const DatasetInfo info = inspect(request, console.events());
  if (info.obstacle) {
    console.report(arrays_facts(info), arrays_text(info, request.path));
    return kDone;
  }
  if (info.is_complete || console.is_json()) {
    Json facts = info_facts(info);
    if (info.contents) add_array_facts(facts, info);
    const std::string_view join = line.has("axis")           ? "arrays as --axis says"
                                  : line.has("raw")          ? "numbers as --raw says"
                                  : line.words().size() == 1 ? "a file of arrays"
                                                             : kJoinedInputs;
    console.report(facts, info.is_complete ? info_text(info, request, join) : "");
  }
  if (info.bad_file_count > 0) {
    console.hint(
        fmt::format("'shale verify {}' lists all that is damaged, and 'shale repair' replaces it",
                    printable(request.path)));
    return kDamaged;
  }
  if (info.is_complete) return kDone;
  console.warn(unfinished(request.path));
  return kFailed;
}

int run_cat(const CommandLine& line, Console& console) {
  const bool names_key = line.has("key");
  if (names_key && line.words().size() == 2 && !are_inputs_with_names(line.words()) &&
      !files_of_words(line.words()))
    throw Error(Code::usage, "ROW and --key exclude each other").hint("leave out one of the two");
  DatasetRequest request = dataset_request(line, names_key ? 0 : 1);
  request.memory_bytes = line.memory().value;
  if (std::optional<InputRequest> input = listed_input(line, names_key ? 0 : 1)) {
    const std::string key = line.text_or_none("key"), printed = unescaped(key).value_or(key);
    const std::uint64_t wanted = names_key ? 0 : parse_count(line.words().back(), "ROW");
    const ListedValues values = {.takes = [=](const std::string& one, std::uint64_t row) {
      return names_key ? one == key || one == printed : row == wanted;
    }};
    input->memory_bytes = request.memory_bytes;
    request.open_instead = [inputs = *input, values](const Events& events) {
      return open_listed_input(inputs, values, events);
    };
  }
  const FoundSample found =
      names_key ? find_key(request, line.text("key"), console.events())
                : find_row(request, parse_count(line.words().back(), "ROW"), console.events());
  if (console.is_json()) {
    console.report(sample_facts(found), "");
    return kDone;
  }
  const std::optional<std::uint64_t> element = line.count("element");
  const std::string field = line.has("field") ? line.text("field") : found.schema.fields.at(0).name;
  if (field == "key" && !element) {
    print(found.sample.key + "\n");
    return kDone;
  }
  const std::optional<std::size_t> position = found.schema.find(field);
  if (field == "key")
    throw Error(Code::usage, "--element {}: the key is not a list", *element)
        .hint("leave the option out, or name a field of kind list with --field");
  if (!position) {
    std::vector<std::string> names = {"key"};
    for (const Field& one : found.schema.fields) names.push_back(one.name);
    throw no_such_field(field)
        .at(request.path)
        .hint(did_you_mean(field, names))
        .hint("the fields are key, " + fields_text(found.schema, RowStorage::indexed()));
  }
  element ? write_element(found, *position, *element) : write_field(found, *position);
  return kDone;
}

int run_formats(const CommandLine& line, Console& console) {
  line.require_words(0);
  std::string text;
  for (const Format* format : all_formats()) {
    std::vector<std::string_view> kinds;
    for (const Kind kind : format->can.kinds) kinds.push_back(name_of(kind));
    text += fmt::format("{:<13}{} ({})\n             holds {}\n", format->name, format->summary,
                        fmt::join(format->suffixes, " "), fmt::join(kinds, ", "));
  }
  console.report(formats_facts(), text);
  return kDone;
}

}  // namespace shale::tools
