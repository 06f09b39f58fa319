#include "python/bindings/commands_binding.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/file_list.hpp"
#include "shale/datasets/rebuild_index.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/ops/convert.hpp"
#include "shale/ops/inspect.hpp"
#include "shale/ops/merge.hpp"
#include "shale/ops/parts.hpp"
#include "shale/verify/verify.hpp"

#include "python/bindings/arguments.hpp"
#include "python/bindings/errors_binding.hpp"
#include "python/bindings/interpreter.hpp"
#include "python/bindings/plain_objects.hpp"
#include "python/bindings/watch.hpp"
#include "tools/facts.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace shale::python {
namespace {

using tools::Json;

// Runs a command without the interpreter's lock.
template <class Command>
auto run_unlocked(Watch& watch, const Command& command) {
  const Events events = watch.events();
  try {
    const Unlocked unlocked;
    return command(events);
  } catch (const Error& error) {
    raise_as_python(error, {});
  }
}

nb::dict result_of(const Json& facts, const Watch& watch) {
  nb::dict result;
  result["facts"] = facts.dump();
  result["notes"] = watch.notes();
  return result;
}

std::optional<Dialect> dialect_of(const Arguments& arguments) {
  const auto name = arguments.maybe<std::string>("parse");
  if (!name) return std::nullopt;
  return wanted_dialect(*name);
}

OnError on_error_named(const std::string& name) {
  return name == "keep" ? OnError::keep : name == "fail" ? OnError::fail : OnError::skip;
}

ImageRequest images_of(const Arguments& arguments) {
  const auto texts = [&](const char* name) {
    return arguments.get<std::vector<std::string>>(name);
  };
  return parse_image_words({.resize = texts("resize"),
                            .crop = texts("crop"),
                            .encode = texts("encode"),
                            .quality = texts("quality"),
                            .masks = arguments.maybe<std::string>("masks"),
                            .only_larger = arguments.get<bool>("only_larger"),
                            .apply_rotation = arguments.get<bool>("apply_rotation"),
                            .strip_metadata = arguments.get<bool>("strip_metadata")});
}

ConvertRequest convert_request_of(const Arguments& arguments) {
  ConvertRequest request;
  request.inputs = arguments.paths("inputs");
  request.output = raw(arguments.get<nb::bytes>("output"));
  OutputOptions options = arguments.output_options();
  options.with_index = arguments.get<bool>("with_index");
  options.compression = arguments.maybe<std::string>("compress");
  options.layout = arguments.maybe<std::string>("layout");
  request.verify = arguments.get<bool>("verify");
  options.is_append = arguments.get<bool>("append");
  choose_output(request, options);
  request.fields = arguments.get<std::vector<std::string>>("fields");
  request.generator = tools::kGenerator;
  request.labels.path = arguments.path("labels").value_or("");
  request.labels.label_column = arguments.maybe<std::string>("label_column").value_or("");
  request.labels.key_column = arguments.maybe<std::string>("key_column").value_or("");
  if (const auto pairs = arguments.maybe<std::string>("pairs")) {
    request.files.pairs.policy = *pairs == "on" ? PairPolicy::on : PairPolicy::off;
    request.files.pairs.is_given = true;
  }
  request.classes.from = arguments.path("classes_from").value_or("");
  request.container.index_folder = arguments.path("index_dir").value_or("");
  request.container.dialect = dialect_of(arguments);
  request.order.choice = {.select_file = arguments.path("select").value_or(""),
                          .exclude_file = arguments.path("exclude").value_or("")};
  request.files.listing.shared = arguments.path("listing").value_or("");
  request.order.is_shuffled = arguments.get<bool>("shuffle");
  request.split = parse_split(arguments.paths("split"));
  request.order.seed = arguments.maybe<std::uint64_t>("seed").value_or(0);
  refuse_idle_seed(request, arguments.maybe<std::uint64_t>("seed").has_value());
  if (const auto hidden = arguments.maybe<std::string>("hidden"))
    request.files.hidden = *hidden == "skip" ? HiddenPolicy::skip : HiddenPolicy::keep;
  request.files.groups_frames = arguments.maybe<std::string>("group").has_value();
  if (const auto suffixes = arguments.maybe<std::string>("ext"))
    request.files.suffixes = suffixes_option(*suffixes);
  request.images = images_of(arguments);
  request.files.allow_empty = arguments.get<bool>("allow_empty");
  for (const char* option : {"on_error", "max_errors"}) {
    if (is_array_name(request.output) && request.images.is_empty() &&
        arguments.maybe<std::string>(option))
      throw does_nothing_for_file(std::string(option) == "on_error" ? "on-error" : "max-errors",
                                  request.output);
  }
  request.on_error = on_error_named(arguments.maybe<std::string>("on_error").value_or("skip"));
  request.files.refuses_incomplete = request.on_error == OnError::fail;
  request.max_errors =
      parse_error_allowance(arguments.maybe<std::string>("max_errors").value_or("1%"));
  request.io = arguments.io();
  request.overwrite = arguments.get<bool>("overwrite");
  request.classes.adds = arguments.maybe<std::string>("new_classes").has_value();
  if (request.classes.adds && !request.is_append)
    throw Error(Code::usage, "--new-classes has no effect without --append");
  request.is_dry_run = arguments.get<bool>("dry_run");
  request.jobs = arguments.jobs();
  request.memory_bytes = arguments.memory_bytes();
  arguments.choose_part(request);
  return request;
}

nb::dict run_convert(const nb::dict& words, nb::object progress) {
  const ConvertRequest request = convert_request_of(Arguments(words));
  Watch watch(std::move(progress));
  const ConvertReport report =
      run_unlocked(watch, [&](const Events& events) { return convert(request, events); });
  return result_of(tools::convert_facts(report, request.output), watch);
}

nb::dict run_verify(const nb::dict& words, nb::object progress) {
  const Arguments arguments(words);
  const auto depth = arguments.get<std::string>("depth");
  const VerifyRequest request{
      .dataset = raw(arguments.get<nb::bytes>("dataset")),
      .depth = depth == "quick"  ? VerifyDepth::quick
               : depth == "deep" ? VerifyDepth::deep
                                 : VerifyDepth::full,
      .against = arguments.paths("against"),
      .labels_file = arguments.path("labels").value_or(""),
      .label_column = arguments.maybe<std::string>("label_column").value_or(""),
      .key_column = arguments.maybe<std::string>("key_column").value_or(""),
      .index_folder = arguments.path("index_dir").value_or(""),
      .generator = std::string(tools::kGenerator),
      .jobs = arguments.jobs(),
      .memory_bytes = arguments.memory_bytes(),
  };
  Watch watch(std::move(progress));
  const VerifyReport report =
      run_unlocked(watch, [&](const Events& events) { return verify(request, {}, events); });
  return result_of(tools::verify_facts(report), watch);
}

nb::dict run_info(const nb::dict& words) {
  const Arguments arguments(words);
  const DatasetRequest request{.path = raw(arguments.get<nb::bytes>("dataset")),
                               .index_folder = arguments.path("index_dir").value_or(""),
                               .dialect = dialect_of(arguments),
                               .generator = std::string(tools::kGenerator)};
  Watch watch{nb::none()};
  const DatasetInfo info =
      run_unlocked(watch, [&](const Events& events) { return inspect(request, events); });
  return result_of(tools::info_facts(info), watch);
}

// One dataset of shale's.
nb::dict run_rebuild(const nb::bytes& dataset, nb::object progress) {
  const std::string path = raw(dataset);
  Watch watch(std::move(progress));
  const RebuildReport report =
      run_unlocked(watch, [&](const Events& events) { return rebuild_index(path, events); });
  return result_of(tools::rebuild_facts(report), watch);
}

// One file of another tool.
nb::dict run_index_file(const nb::dict& words, nb::object progress) {
  const Arguments arguments(words);
  const ForeignRequest request{.file = raw(arguments.get<nb::bytes>("file")),
                               .index_folder = arguments.path("index_dir").value_or(""),
                               .dialect = dialect_of(arguments),
                               .with_checksums = arguments.get<bool>("crc"),
                               .generator = std::string(tools::kGenerator),
                               .memory_bytes = arguments.memory_bytes()};
  Watch watch(std::move(progress));
  const IndexedFile indexed =
      run_unlocked(watch, [&](const Events& events) { return index_file(request, events); });
  return result_of(
      tools::indexed_file_facts(indexed, DatasetPaths::of_file(request.file, request.index_folder)),
      watch);
}

nb::dict run_repair(const nb::dict& words, nb::object progress) {
  const Arguments arguments(words);
  const std::vector<std::string> sources = arguments.paths("source");
  const RepairRequest request{
      .dataset = raw(arguments.get<nb::bytes>("dataset")),
      .from = sources.front(),
      .more_from = {sources.begin() + 1, sources.end()},
      .labels_file = arguments.path("labels").value_or(""),
      .choice = {arguments.path("select").value_or(""), arguments.path("exclude").value_or("")},
      .label_column = arguments.maybe<std::string>("label_column").value_or(""),
      .key_column = arguments.maybe<std::string>("key_column").value_or(""),
      .generator = std::string(tools::kGenerator),
      .jobs = arguments.jobs(),
      .memory_bytes = arguments.memory_bytes(),
      .io = arguments.io(),
      .is_dry_run = arguments.get<bool>("dry_run")};
  Watch watch(std::move(progress));
  const RepairReport report =
      run_unlocked(watch, [&](const Events& events) { return repair(request, events); });
  return result_of(tools::repair_facts(report), watch);
}

nb::dict run_parts(const nb::dict& words, nb::object progress) {
  const std::vector<std::string> places = Arguments(words).paths("parts");
  Watch watch(std::move(progress));
  const PartsReport report =
      run_unlocked(watch, [&](const Events& events) { return find_parts(places, events); });
  return result_of(tools::parts_facts(report), watch);
}

nb::dict run_merge(const nb::dict& words, nb::object progress) {
  const Arguments arguments(words);
  const MergeRequest request{.parts = arguments.paths("parts"),
                             .output = raw(arguments.get<nb::bytes>("output")),
                             .moves = arguments.get<bool>("move")};
  Watch watch(std::move(progress));
  const MergeReport report =
      run_unlocked(watch, [&](const Events& events) { return merge(request, events); });
  return result_of(tools::merge_facts(report, request), watch);
}

// The file that a path stands for: itself, or data.mdb in the directory of an LMDB.
nb::object find_file(const nb::bytes& path) {
  const std::optional<std::string> file = file_of_path(raw(path));
  return file ? nb::object(nb::bytes(file->data(), file->size())) : nb::none();
}

// The files that a list of files names, each once; None: it is not one.
nb::object find_listed_files(const nb::bytes& path) {
  const std::optional<std::string> list = file_of_path(raw(path));
  const auto files = list ? files_of_list(*list) : std::nullopt;
  if (!files) return nb::none();
  std::set<std::string> seen;
  nb::list paths;
  for (const SetMember& file : *files) {
    if (seen.insert(file.path).second) paths.append(nb::bytes(file.path.data(), file.path.size()));
  }
  return paths;
}

}  // namespace

void bind_commands(nb::module_& module) {
  module.def("convert", &run_convert, "words"_a, "progress"_a.none());
  module.def("verify", &run_verify, "words"_a, "progress"_a.none());
  module.def("info", &run_info, "words"_a);
  module.def("rebuild_index", &run_rebuild, "dataset"_a, "progress"_a.none());
  module.def("repair", &run_repair, "words"_a, "progress"_a.none());
  module.def("index_file", &run_index_file, "words"_a, "progress"_a.none());
  module.def("parts", &run_parts, "words"_a, "progress"_a.none());
  module.def("merge", &run_merge, "words"_a, "progress"_a.none());
  module.def("file_of_path", &find_file, "path"_a);
  module.def("files_of_list", &find_listed_files, "path"_a);
  module.def("formats", [] { return tools::formats_facts().dump(); });
}

}  // namespace shale::python
