#include "shale/sources/input_kind.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <unistd.h>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/tar_stream.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/file_list.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/folders/list_source.hpp"
#include "shale/folders/stored_listing.hpp"
#include "shale/format/format.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/sources/dataset_source.hpp"
#include "shale/sources/named_folders.hpp"

namespace shale {
namespace {

constexpr InputOption kInputOptions[] = {
    {"--labels", [](const InputRequest& r) { return !r.labels.path.empty(); }},
    {"--classes-from",
     [](const InputRequest& r) { return !r.classes.from.empty() && !r.classes.extends_set; }},
    {"--listing", [](const InputRequest& r) { return !r.files.listing.shared.empty(); }},
    {"--hidden", [](const InputRequest& r) { return r.files.hidden != HiddenPolicy::unset; }},
    {"--group", [](const InputRequest& r) { return r.files.groups_frames; }},
    {"--ext", [](const InputRequest& r) { return !r.files.suffixes.empty(); }},
    {"--pairs", [](const InputRequest& r) { return r.files.pairs.is_given; }},
    {"--fields", [](const InputRequest& r) { return !r.fields.empty(); }},
    {"--select", [](const InputRequest& r) { return !r.order.choice.select_file.empty(); }},
    {"--exclude", [](const InputRequest& r) { return !r.order.choice.exclude_file.empty(); }},
    {"--shuffle", [](const InputRequest& r) { return r.order.is_shuffled; }},
    {"--part", [](const InputRequest& r) { return r.order.part.has_value(); }},
    {"--index-dir", [](const InputRequest& r) { return !r.container.index_folder.empty(); }},
    {"--parse", [](const InputRequest& r) { return r.container.dialect.has_value(); }},
    {"--classes", [](const InputRequest& r) { return !r.order.choice.classes.empty(); }},
};

constexpr std::uint32_t kTakesOrder =
    kTakesSelect | kTakesExclude | kTakesClasses | kTakesShuffle | kTakesPart;

OpenedInput orderable(std::unique_ptr<OrderableSource> source) {
  OrderableSource* const same = source.get();
  return {.source = std::move(source), .orderable = same};
}

bool wants_rows(const OrderRequest& order) {
  return order.draw || order.is_shuffled || !order.choice.is_all();
}

// ---- files, in folders, archives and lists

FolderRequest folder_request(const SoughtInput& input) {
  const InputRequest& request = input.request;
  return {.root = request.inputs.front(),
          .labels = request.labels,
          .classes = request.classes,
          .files = request.files,
          .scratch_folder = input.scratch_folder,
          .memory_bytes = list_memory(request.memory_bytes),
          .all_memory_bytes = request.memory_bytes,
          .stop_if_asked = [&events = input.events] { events.stop_if_asked(); },
          .enters = refuse_folders_with(request.output, request.inputs.front()),
          .tree = request.tree};
}

// The first process that comes makes the list; it is there as a whole, or not at all.
void make_listing(FolderRequest folder, const std::string& listing) {
  std::vector<std::string> roots = {folder.root};
  for (const NamedFolder& one : folder.folders) roots.push_back(one.root);
  refuse_nested({listing}, roots);
  folder.files.listing.stored.clear();
  // Processes of several machines may be at it.
  folder.files.listing.written = fmt::format(
      "{}.{:016x}.new", listing,
      (std::uint64_t{std::random_device()()} << 32) | static_cast<std::uint32_t>(::getpid()));
  try {
    (void)open_folder(folder);
    if (!rename_to_free_name(folder.files.listing.written, listing))
      (void)remove_file(folder.files.listing.written);
  } catch (...) {
    (void)remove_file(folder.files.listing.written);
    throw;
  }
}

void use_shared_listing(FolderRequest& folder, const std::string& listing) {
  if (!stands(listing)) {
    make_listing(folder, listing);
  } else if (!may_be_listing(listing)) {
    throw Error(Code::unsupported, "is not a list of files that --listing has made")
        .at(listing)
        .hint("name one that it has made, or a file that does not exist yet");
  }
  folder.files.listing.stored = listing;
  folder.files.listing.is_needed = true;
  folder.files.listing.written.clear();
}

OpenedInput open_files(const InputRequest& request, FolderRequest folder) {
  const FileRequest& files = request.files;
  if (files.groups_frames && (!files.suffixes.empty() || files.pairs.is_given)) {
    throw Error(Code::usage, "{}",
                files.suffixes.empty()
                    ? "--group and --pairs exclude each other: frames have no partners"
                    : "--group frames takes images, and --ext takes other files")
        .at(request.inputs.front())
        .hint("leave out one of the two");
  }
  if (!request.files.listing.shared.empty())
    use_shared_listing(folder, request.files.listing.shared);
  return orderable(request.files.groups_frames ? open_frames(folder) : open_folder(folder));
}

Error not_for_folder(const InputRequest& request, std::string_view option) {
  return Error(Code::usage, "{} is for datasets and arrays, but the input is a folder of images",
               option)
      .at(request.inputs.front())
      .hint("leave out the option");
}

// Of a folder that has no images because it is not one of images.
void refuse_other_files(const std::string& folder) {
  if (archive_of_path(folder)) return;
  if (has_shards(folder)) throw unrecognized(folder);
  constexpr int kMostLookedAt = 1000;
  int looked_at = 0;
  std::string other;
  visit_names(folder, [&](const std::string& name) {
    const auto has = [&](std::string_view suffix) { return name.ends_with(suffix); };
    for (const Format* format : all_formats()) {
      if (std::ranges::any_of(format->suffixes, has)) other = name;
    }
    return other.empty() && ++looked_at < kMostLookedAt;
  });
  if (other.empty()) return;
  throw Error(Code::unsupported, "holds no images, but files such as '{}'", printable(other))
      .at(folder)
      .hint(
          fmt::format("convert such files one by one: 'shale convert {} OUT --to FORMAT', and the "
                      "others with --append",
                      printable(join_path(folder, other))));
}

Recognition recognize_folder(SoughtInput& input) {
  if (!input.is_one()) return {};
  const bool is_archive = archive_of_path(input.path()).has_value();
  const Place place = is_archive ? Place::other_folder : look_at(input.path());
  const bool is_folder = place == Place::empty_folder || place == Place::other_folder;
  if (!is_folder || (!is_archive && file_of_path(input.path()))) return {};
  return {is_archive ? Certainty::certain : Certainty::by_name, [](SoughtInput& found) {
            FolderRequest folder = folder_request(found);
            if (!folder.tree) folder.tree = open_tree_of_archive(folder);
            try {
              return open_files(found.request, std::move(folder));
            } catch (const Error& error) {
              if (error.code() == Code::bad_content) refuse_other_files(found.path());
              throw;
            }
          }};
}

Recognition recognize_named_folders(SoughtInput& input) {
  std::vector<NamedFolder> folders = find_named_folders(input.request.inputs);
  if (folders.empty()) return {};
  return {Certainty::certain, [folders](SoughtInput& found) {
            FolderRequest folder = folder_request(found);
            folder.tree = nullptr;
            folder.folders = folders;
            for (NamedFolder& one : folder.folders)
              one.enters = refuse_folders_with(found.request.output, one.root);
            folder.root = folders.front().root;
            folder.enters = folder.folders.front().enters;
            folder.files.pairs = {};
            return open_files(found.request, std::move(folder));
          }};
}

Error not_for_named_folders(const InputRequest& request, std::string_view option) {
  if (option != "--group" && option != "--pairs") return not_for_folder(request, option);
  return Error(Code::usage, "{} is for one folder, but the input is several that are joined",
               option)
      .at(request.inputs.front())
      .hint("leave out the option");
}

// A list of files on stdin is kept, and then read as often as it takes.
Recognition recognize_list(SoughtInput& input) {
  if (!input.is_one() || archive_of_path(input.path())) return {};
  const std::optional<StreamPath> path = stream_of_path(input.path());
  if (!path || !is_stdin(*path)) return {};
  StdinCopy& copy = *input.request.stdin_copy;
  if (!copy.is_whole()) {
    input.stream = std::make_unique<InputStream>(
        path->file, [&events = input.events] { events.stop_if_asked(); });
    if (!keep_if_list(copy, *input.stream)) return {};
  }
  if (input.path() != kStdin) {
    throw Error(Code::usage, "stdin is a list of files, in which there are no folders")
        .at(input.path())
        .hint("pass '-', and list only the files that are wanted");
  }
  return {Certainty::certain, [](SoughtInput& found) {
            FolderRequest list = folder_request(found);
            list.root = "stdin";
            return orderable(open_list(found.request.stdin_copy->path(), list));
          }};
}

// What is said in the list itself, or means nothing for it.
Error not_for_list(const InputRequest&, std::string_view option) {
  return Error(Code::usage, "{} is not for a list of files", option)
      .at("stdin")
      .hint(option == "--labels" ? "write path<TAB>label in every line" : "leave out the option");
}

Recognition recognize_stream(SoughtInput& input) {
  if (!input.is_one() || archive_of_path(input.path())) return {};
  const std::optional<StreamPath> path = stream_of_path(input.path());
  if (!path) return {};
  return {Certainty::certain, [path = *path](SoughtInput& found) {
            const FolderRequest folder = folder_request(found);
            OpenedStream opened = open_stream(path, std::move(found.stream),
                                              found.request.memory_bytes, folder.stop_if_asked);
            return OpenedInput{.source = open_tar_stream(path, std::move(opened), folder)};
          }};
}

// ---- rows and samples that have their fields

// A dataset brings its labels and classes along: an option that would change nothing is refused,
// not ignored.
Error for_folders_only(const InputRequest& request, std::string_view option) {
  return Error(Code::usage, "{} is for folders of images, but the input is not one", option)
      .at(request.inputs.front())
      .hint("leave out the option: a dataset has its own samples, labels and classes");
}

Recognition recognize_arrays(SoughtInput& input) {
  std::optional<ArrayColumns> arrays =
      find_array_columns(input.request.inputs, input.request.fields);
  if (!arrays) return {};
  const auto found_arrays = std::make_shared<ArrayColumns>(std::move(*arrays));
  return {Certainty::certain, [found_arrays](SoughtInput& found) {
            ArrayRequest rows{.arrays = std::move(*found_arrays),
                              .scratch_folder = found.scratch_of_rows(),
                              .memory_bytes = array_memory(found.request.memory_bytes)};
            if (wants_rows(found.request.order))
              return OpenedInput{.rows = table_of_arrays(rows, found.events)};
            return OpenedInput{.source = open_array_source(std::move(rows), found.events)};
          }};
}

OpenedInput open_stored(SoughtInput& input) {
  const InputRequest& request = input.request;
  OpenedDataset dataset = open_dataset({.path = input.path(),
                                        .index_folder = request.container.index_folder,
                                        .dialect = request.container.dialect,
                                        .generator = request.generator,
                                        .memory_bytes = request.memory_bytes,
                                        .may_unpack = true,
                                        .proves_container = true},
                                       input.events);
  if (wants_rows(request.order)) {
    OpenedInput drawn{.rows = table_of_dataset(dataset, request.fields)};
    if (drawn.rows) return drawn;
  }
  if (request.order.draw) throw rows_differ(input.path());
  const auto stop_if_asked = [&events = input.events] { events.stop_if_asked(); };
  if (dataset.manifest.layout.is_of_one_file() && dataset.manifest.layout.has_keys) {
    refuse_equal_keys(dataset, input.scratch_of_rows(), stop_if_asked);
    if (std::string note = note_on_order(dataset); !note.empty())
      dataset.notes.push_back(std::move(note));
  }
  return orderable(make_dataset_source(std::move(dataset),
                                       {.fields = request.fields, .stop_if_asked = stop_if_asked}));
}

Recognition recognize_dataset(SoughtInput& input) {
  if (!input.is_one()) return {};
  const Place place = look_at(input.path());
  if (place == Place::absent || place == Place::unfinished) return {};
  const bool is_file = place == Place::other_file;
  const bool is_readable =
      is_file ? detect_file(InputFile(input.path())) != nullptr || files_of_list(input.path())
              : place == Place::dataset || file_of_path(input.path()).has_value();
  if (!is_readable) return {};
  return {Certainty::certain, open_stored};
}

constexpr std::string_view kFolderName = "a folder";
constexpr std::uint32_t kTakesOfFiles =
    kTakesLabels | kTakesClassesFrom | kTakesListing | kTakesHidden | kTakesExt | kTakesOrder;

constexpr InputKind kInputKinds[] = {
    {.name = kFolderName,
     .recognize = recognize_named_folders,
     .takes = kTakesOfFiles,
     .refusal = not_for_named_folders},
    {.name = "arrays",
     .recognize = recognize_arrays,
     .takes = kTakesFields | kTakesOrder,
     .may_be_rows = true,
     .refusal = for_folders_only},
    {.name = "a list of files",
     .recognize = recognize_list,
     .takes = kTakesClassesFrom | kTakesExt | kTakesOrder,
     .place = "stdin",
     .refusal = not_for_list},
    {.name = "a tar archive",
     .recognize = recognize_stream,
     .takes = kTakesLabels | kTakesClassesFrom | kTakesHidden | kTakesExt,
     // What needs to know all samples before the first one, or to find one again.
     .refusal = [](const InputRequest& request,
                   std::string_view option) { return not_for_stream(request.inputs[0], option); }},
    {.name = kFolderName,
     .recognize = recognize_folder,
     .takes = kTakesOfFiles | kTakesGroup | kTakesPairs,
     .refusal = not_for_folder},
    {.name = "a dataset",
     .recognize = recognize_dataset,
     .takes = kTakesFields | kTakesOrder | kTakesIndexDir | kTakesParse,
     .may_be_rows = true,
     .refusal = for_folders_only},
};

constexpr MadeFrom kMadeFrom[] = {
    {.kind = kImageFolder, .is_files = true, .has_unique_keys = true},
    {.kind = kClassFolders, .is_files = true, .has_unique_keys = true},
    {.kind = kFlatFolder, .is_files = true, .has_unique_keys = true},
    {.kind = kVideoFrames, .is_files = true, .has_unique_keys = true},
    {.kind = kFileList, .is_files = true, .has_unique_keys = true},
    {.kind = kArrays, .has_unique_keys = true, .is_known_by_content = true},
    {.kind = kDatasetKind, .has_unique_keys = true},
    {.kind = kFileListKind, .is_known_by_content = true},
};

}  // namespace

MadeFrom made_from(std::string_view kind) {
  for (const MadeFrom& one : kMadeFrom) {
    if (one.kind == kind) return one;
  }
  return {.kind = kind, .is_known_by_content = kind.ends_with(" file")};
}

Error not_for(const InputKind& kind, const InputRequest& request, std::string_view option) {
  const std::string place = kind.place.empty() ? request.inputs.front() : std::string(kind.place);
  if (option == "--index-dir" || option == "--parse")
    return for_files_only(option, place, kind.name);
  if (kind.refusal != nullptr) return kind.refusal(request, option);
  return Error(Code::usage, "{} is not for {}", option, kind.name)
      .at(place)
      .hint("leave out the option");
}

std::span<const InputOption> input_options() { return kInputOptions; }
std::span<const InputKind> input_kinds() { return kInputKinds; }

Error rows_differ(const std::string& input) {
  return Error(Code::unsupported,
               "its samples are not stored as rows of one size, and only such rows can be drawn")
      .at(input)
      .hint(
          "run 'shale convert --shuffle' to write any samples in a shuffled order; where all have "
          "one size, convert them with --to npy first");
}

}  // namespace shale
