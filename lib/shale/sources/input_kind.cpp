#include "shale/sources/input_kind.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <unistd.h>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/tar_stream.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/folders/list_source.hpp"
#include "shale/format/format.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/labels/table_source.hpp"
#include "shale/manifest/stored_listing.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/sources/array_words.hpp"
#include "shale/sources/dataset_source.hpp"
#include "shale/sources/joined_source.hpp"
#include "shale/sources/joined_words.hpp"
#include "shale/sources/made_of_folder.hpp"
#include "shale/sources/named_folders.hpp"
#include "shale/sources/offered_whole.hpp"
#include "shale/sources/settled_keys.hpp"

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
    {"--select", [](const InputRequest& r) { return !r.order.choice.select_file.empty(); }},
    {"--exclude", [](const InputRequest& r) { return !r.order.choice.exclude_file.empty(); }},
    {"--shuffle", [](const InputRequest& r) { return r.order.is_shuffled; }},
    {"--part", [](const InputRequest& r) { return r.order.part.has_value(); }},
    {"--index-dir", [](const InputRequest& r) { return !r.container.index_folder.empty(); }},
    {"--parse", [](const InputRequest& r) { return r.container.parsing.dialect.has_value(); }},
    {"--classes", [](const InputRequest& r) { return !r.order.choice.classes.empty(); }},
    {"--database", [](const InputRequest& r) { return !r.container.parsing.database.empty(); }},
    {"--on", [](const InputRequest& r) { return r.join.on != JoinOn::unset; }},
    {"--partners", [](const InputRequest& r) { return r.join.partners != Partners::unset; }},
    {"--axis", [](const InputRequest& r) { return !r.axes.empty(); }},
    {"--class-order",
     [](const InputRequest& r) { return r.classes.order != ClassOrder::bytewise; }},
    {"--limit", [](const InputRequest& r) { return r.order.choice.limit > 0; }},
    {"--raw", [](const InputRequest& r) { return r.raw.is_given(); }},
    {"--label-from", [](const InputRequest& r) { return !r.labels.pattern.empty(); }},
};

constexpr std::uint32_t kTakesOrder =
    kTakesSelect | kTakesExclude | kTakesClasses | kTakesLimit | kTakesShuffle | kTakesPart;
constexpr std::uint32_t kTakesOfFiles = kTakesLabels | kTakesLabelFrom | kTakesClassesFrom |
                                        kTakesClassOrder | kTakesListing | kTakesHidden |
                                        kTakesExt | kTakesOrder;
// What only a folder takes.
constexpr std::uint32_t kTakesOfFolders =
    (kTakesOfFiles & ~kTakesOrder) | kTakesGroup | kTakesPairs;

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
  FileRequest files = request.files;
  files.takes_decodable = request.images.writes_other_types() && !files.groups_frames;
  return {.root = request.inputs.front(),
          .labels = request.labels,
          .classes = request.classes,
          .files = std::move(files),
          .needs_labels = request.fields.takes(kLabelField),
          .on_damage = request.on_damage,
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
    WorkFolder::refuse_unwritable(WorkFolder::BesideFile{listing});
    if (folder.files.listing.is_only_read) return;
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

Recognition recognize_folder(SoughtInput& input) {
  if (!input.is_one()) return {};
  const std::optional<ArchivePath> archive = archive_of_path(input.path(), tars_as(input.request));
  const Place place = archive ? Place::other_folder : look_at(input.path());
  const bool is_folder = place == Place::empty_folder || place == Place::other_folder;
  if (!is_folder || (!archive && file_of_path(input.path()))) return {};
  return {
      archive ? Certainty::certain : Certainty::by_name, [archive](SoughtInput& found) {
        FolderRequest folder = folder_request(found);
        if (!folder.tree && archive) folder.tree = open_archive_tree(folder, *archive);
        if (archive) folder.root = shown_archives(*archive, folder.root);
        try {
          return open_files(found.request, std::move(folder));
        } catch (const Error& error) {
          if (error.code() == Code::bad_content && found.request.files.suffixes.empty() && !archive)
            refuse_other_files(found.path());
          throw;
        }
      }};
}

Error not_for_named_folders(const InputRequest& request, std::string_view option) {
  return Error(Code::usage, "{} is for one folder, but the input is several that are joined",
               option)
      .at(request.inputs.front())
      .hint("leave out the option");
}

Recognition recognize_named_folders(SoughtInput& input) {
  if (input.request.raw.is_given()) return {};
  std::vector<NamedFolder> folders = find_named_folders(input.request.inputs);
  if (folders.empty()) return {};
  return {Certainty::certain, [folders](SoughtInput& found) {
            FolderRequest folder = folder_request(found);
            folder.tree = nullptr;
            folder.folders = folders;
            const PairRequest& pairs = found.request.files.pairs;
            if (pairs.is_given && pairs.policy != PairPolicy::bytes)
              throw not_for_named_folders(found.request, "--pairs");
            for (std::size_t i = 1; i < folders.size(); ++i) {
              folder.folders[i].is_optional = found.request.join.partners == Partners::any;
              if (pairs.policy == PairPolicy::bytes)
                folder.folders[i].type = Field{.name = {}, .kind = Kind::bytes};
            }
            if (!pairs.folders.empty())
              folder.folders = with_recorded_types(std::move(folder.folders), pairs.folders);
            for (NamedFolder& one : folder.folders)
              one.enters = refuse_folders_with(found.request.output, one.root);
            folder.root = folders.front().root;
            folder.enters = folder.folders.front().enters;
            folder.files.pairs = {.standing = pairs.standing};
            return open_files(found.request, std::move(folder));
          }};
}

// A list of files on stdin is kept, and then read as often as it takes.
Recognition recognize_list(SoughtInput& input) {
  if (!input.is_one() || archive_of_path(input.path())) return {};
  const std::optional<StreamPath> path = stream_of_path(input.path());
  if (!path || !is_stdin(*path)) return {};
  StdinCopy& copy = *input.request.stdin_copy;
  if (!copy.is_whole()) {
    input.stream = copy.take_opened();
    if (!input.stream)
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
  const std::optional<StreamPath> path = stream_of_path(input.path(), tars_as(input.request));
  if (!path) return {};
  return {Certainty::certain, [path = *path](SoughtInput& found) {
            const FolderRequest folder = folder_request(found);
            if (takes_every(folder.files.pairs.policy))
              throw not_for_stream(found.path(), "--pairs on");
            if (!found.stream) found.stream = found.request.stdin_copy->take_opened();
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
  const InputRequest& request = input.request;
  if (request.raw.is_given() && !request.container.index_folder.empty())
    throw Error(Code::usage,
                "--index-dir has no effect with --raw: such files are read as they are")
        .hint("leave out --index-dir");
  if (are_files_samples(request.inputs, request.files.suffixes)) return {};
  ArrayWords read =
      words_as_indexed(request.inputs, request.container.index_folder, request.raw, input.events);
  const auto find = [&](bool takes_truncated) {
    return find_array_columns(
        read.words, {.fields = request.fields.only,
                     .dropped = request.fields.dropped,
                     .axes = request.axes,
                     .reading = {.takes_truncated = takes_truncated, .raw = request.raw}});
  };
  const bool leaves_out = request.on_damage == OnDamage::leave_out;
  const bool has_order = wants_rows(request.order);
  std::optional<ArrayColumns> arrays = or_offer_whole(
      leaves_out && has_order ? OnDamage::suggest : request.on_damage,
      [&] { return find(leaves_out && !has_order); }, [&] { return find(true).has_value(); },
      leaves_out ? kOrderHint : kWholeHint);
  if (!arrays) return {};
  std::ranges::move(read.notes, std::back_inserter(arrays->notes));
  if (std::string note = note_on_words(request.inputs); !note.empty())
    arrays->notes.push_back(std::move(note));
  const auto found_arrays = std::make_shared<ArrayColumns>(std::move(*arrays));
  return {Certainty::certain, [found_arrays](SoughtInput& found) {
            ArrayRequest rows{.arrays = std::move(*found_arrays),
                              .scratch_folder = found.scratch_of_rows(),
                              .memory_bytes = array_memory(found.request.memory_bytes)};
            OpenedInput opened{.has_chosen_fields = true};
            if (wants_rows(found.request.order)) {
              opened.rows = table_of_arrays(rows, found.events);
            } else {
              opened.source = open_array_source(std::move(rows), found.events);
            }
            return opened;
          }};
}

OpenedInput open_stored(SoughtInput& input, const std::vector<SetMember>& files) {
  const InputRequest& request = input.request;
  const auto open = [&] {
    return open_dataset({.path = input.path(),
                         .files = files,
                         .index_folder = request.container.index_folder,
                         .parsing = request.container.parsing,
                         .generator = request.generator,
                         .memory_bytes = request.memory_bytes,
                         .unpacking = Unpacking::fully,
                         .fields = request.fields.only,
                         .axes = request.axes,
                         .proves_container = true,
                         .takes_damaged = request.on_damage == OnDamage::leave_out},
                        input.events);
  };
  OpenedDataset dataset =
      or_offer_whole(request.on_damage, open, [&] { return may_be_saved(input.path(), files); });
  if (std::string note = note_on_words(request.inputs); !note.empty())
    dataset.notes.push_back(std::move(note));
  const auto stop_if_asked = [&events = input.events] { events.stop_if_asked(); };
  const DatasetSelection selection{
      .fields = request.fields, .on_damage = request.on_damage, .stop_if_asked = stop_if_asked};
  // Of rows that are put in order nothing is known any more: where some are damaged, they are read
  // one by one.
  if (wants_rows(request.order) && dataset.lost.empty() &&
      (request.on_damage != OnDamage::leave_out ||
       are_whole_rows(dataset, request.fields, stop_if_asked))) {
    OpenedInput drawn{.rows = table_of_dataset(dataset, selection), .has_chosen_fields = true};
    if (drawn.rows) return drawn;
  }
  if (request.order.draw) throw rows_differ(input.path());
  if (dataset.manifest.layout.is_of_one_file() && dataset.manifest.layout.has_keys) {
    settle_keys(dataset, input.scratch_of_rows(), stop_if_asked);
    if (std::string note = note_on_order(dataset); !note.empty())
      dataset.notes.push_back(std::move(note));
  }
  OpenedInput opened = orderable(make_dataset_source(std::move(dataset), selection));
  opened.has_chosen_fields = true;
  return opened;
}

Recognition recognize_dataset(SoughtInput& input) {
  if (!input.is_one()) {
    std::optional<std::vector<SetMember>> files = files_of_words(input.request.inputs);
    if (!files) return {};
    return {Certainty::certain,
            [files = *std::move(files)](SoughtInput& found) { return open_stored(found, files); }};
  }
  const Place place = look_at(input.path());
  if (place == Place::unfinished) return {};
  Parsing parsing = input.request.container.parsing;
  if (tars_as(input.request) == TarsAs::samples) parsing.dialect = Dialect::webdataset;
  if (are_files_samples(input.request.inputs, input.request.files.suffixes)) return {};
  const bool is_readable =
      place == Place::dataset || holds_set(input.path()) ||
      (place == Place::other_file ? detect_file(InputFile(input.path()), parsing) != nullptr
                                  : file_of_path(input.path()).has_value());
  if (!is_readable) return {};
  return {Certainty::certain, [](SoughtInput& found) { return open_stored(found, {}); }};
}

// ---- several inputs with names

// Each is opened by its own kind.
OpenedInput open_joined(SoughtInput& input, std::vector<JoinedGroup> groups) {
  const InputRequest& request = input.request;
  for (JoinedGroup& group : groups) {
    if (group.what != JoinedGroup::What::arrays) continue;
    ArrayWords read = words_as_indexed(group.words, {}, {}, input.events);
    group.words = std::move(read.words);
    for (const std::string& note : read.notes) input.events.say(note);
  }
  const auto has_name = [](const std::string& word) {
    return path_in_word(word).size() < word.size();
  };
  if (std::ranges::none_of(request.inputs, has_name)) {
    std::string words;
    for (const JoinedGroup& group : groups)
      words += fmt::format(" {}={}", group.name, printable(group.path));
    input.events.say(fmt::format(
        "the files have other fields, and as many rows: they are joined row by row, as{}", words));
  }
  if (groups.size() == 1) {
    InputRequest one = request;
    one.inputs = groups.front().words;
    return input.open_one(one);
  }
  std::vector<JoinedPart> parts;
  for (const JoinedGroup& group : groups) {
    OpenedInput opened = group.what == JoinedGroup::What::table
                             ? orderable(make_table_source(group.path, input.events))
                             : input.open_one(input_of_group(request, group));
    parts.push_back({.name = group.name,
                     .path = group.path,
                     .source = std::move(opened.source),
                     .orderable = opened.orderable,
                     .named = group.names,
                     .is_of_files = group.is_of_files()});
  }
  OpenedInput joined =
      orderable(make_joined_source(std::move(parts),
                                   {.join = request.join,
                                    .fields = request.fields,
                                    .scratch_folder = input.scratch_of_rows(),
                                    .memory_bytes = list_memory(request.memory_bytes)},
                                   input.events));
  joined.has_chosen_fields = true;
  return joined;
}

void refuse_idle_options(const InputRequest& request, const std::vector<JoinedGroup>& groups) {
  const bool has_folders = std::ranges::any_of(groups, &JoinedGroup::is_of_files);
  const bool has_others =
      std::ranges::find(groups, JoinedGroup::What::other, &JoinedGroup::what) != groups.end();
  std::uint32_t bit = 1;
  for (const InputOption& option : kInputOptions) {
    const bool is_idle =
        (!has_folders && (bit & kTakesOfFolders) != 0) ||
        (!has_others && (bit & (kTakesIndexDir | kTakesParse | kTakesDatabase)) != 0) ||
        (groups.size() == 1 && (bit & (kTakesOn | kTakesPartners)) != 0);
    bit <<= 1U;
    if (!is_idle || !option.is_given(request)) continue;
    throw Error(Code::usage, "{} is not for any of these inputs", option.name)
        .at(groups.front().path)
        .hint("leave out the option");
  }
  if (groups.size() > 1) refuse_axes_of_none(request.axes, groups);
  if (request.join.partners != Partners::unset && request.join.on != JoinOn::key) {
    throw Error(Code::usage, "--partners is for inputs that are joined by their keys")
        .at(groups.front().path)
        .hint("pass --on key as well");
  }
}

Recognition recognize_joined(SoughtInput& input) {
  const InputRequest& request = input.request;
  if (request.raw.is_given() || are_files_samples(request.inputs, request.files.suffixes))
    return {};
  std::vector<JoinedGroup> groups = find_joined_groups(request.inputs);
  if (groups.empty()) return {};
  refuse_idle_options(request, groups);
  return {Certainty::certain,
          [groups = std::move(groups)](SoughtInput& found) { return open_joined(found, groups); }};
}

Error not_for_joined(const InputRequest& request, std::string_view option) {
  return Error(Code::usage, "{} is not for inputs that are joined", option)
      .at(request.inputs.front())
      .hint("leave out the option");
}

constexpr std::string_view kFolderName = "a folder";
constexpr InputKind kInputKinds[] = {
    {.name = "inputs that are joined",
     .recognize = recognize_joined,
     .takes = kTakesOfFiles | kTakesGroup | kTakesPairs | kTakesIndexDir | kTakesParse |
              kTakesDatabase | kTakesOn | kTakesPartners | kTakesAxis,
     .refusal = not_for_joined},
    {.name = kFolderName,
     .recognize = recognize_named_folders,
     .takes = kTakesOfFiles | kTakesPairs | kTakesPartners,
     .refusal = not_for_named_folders},
    {.name = "arrays",
     .recognize = recognize_arrays,
     .takes = kTakesOrder | kTakesIndexDir | kTakesAxis | kTakesRaw,
     .may_be_rows = true,
     .refusal = for_folders_only},
    {.name = "a list of files",
     .recognize = recognize_list,
     .takes = kTakesClassesFrom | kTakesExt | kTakesOrder,
     .place = "stdin",
     .refusal = not_for_list},
    {.name = "a tar archive",
     .recognize = recognize_stream,
     .takes = kTakesLabels | kTakesClassesFrom | kTakesHidden | kTakesExt | kTakesPairs,
     // What needs to know all samples before the first one, or to find one again.
     .refusal = [](const InputRequest& request,
                   std::string_view option) { return not_for_stream(request.inputs[0], option); }},
    {.name = kFolderName,
     .recognize = recognize_folder,
     .takes = kTakesOfFiles | kTakesGroup | kTakesPairs},
    {.name = "a dataset",
     .recognize = recognize_dataset,
     .takes = kTakesOrder | kTakesIndexDir | kTakesParse | kTakesDatabase | kTakesAxis,
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
    {.kind = kJoined},
    {.kind = kFileListKind, .is_known_by_content = true},
};

}  // namespace

TarsAs tars_as(const InputRequest& request) {
  if (request.container.parsing.dialect == Dialect::webdataset) return TarsAs::samples;
  if (request.files.takes_any_archive) return TarsAs::files;
  const std::string& index_folder = request.container.index_folder;
  if (!index_folder.empty() && is_indexed_archive(request.inputs.front(), index_folder))
    return TarsAs::samples;
  std::uint32_t bit = 1;
  for (const InputOption& option : kInputOptions) {
    if ((kTakesOfFolders & bit) != 0 && option.is_given(request)) return TarsAs::files;
    bit <<= 1U;
  }
  return TarsAs::found;
}

MadeFrom made_from(std::string_view kind) {
  for (const MadeFrom& one : kMadeFrom) {
    if (one.kind == kind) return one;
  }
  return {.kind = kind, .is_known_by_content = kind.ends_with(" file")};
}

Error not_for(const InputKind& kind, const InputRequest& request, std::string_view option) {
  const std::string place = kind.place.empty() ? request.inputs.front() : std::string(kind.place);
  if (option == "--index-dir" || option == "--parse" || option == "--database")
    return for_files_only(option, place, kind.name);
  if (option == "--raw") {
    return Error(Code::usage, "--raw is for files of numbers, but the input is {}", kind.name)
        .at(place)
        .hint("leave out the option");
  }
  if (option == "--on" || option == "--partners") {
    return Error(Code::usage, "{} is for several inputs that are joined, each with a name", option)
        .at(place)
        .hint("leave out the option");
  }
  if (kind.refusal != nullptr) return kind.refusal(request, option);
  return Error(Code::usage, "{} is not for {}", option, kind.name)
      .at(place)
      .hint("leave out the option");
}

std::span<const InputOption> input_options() { return kInputOptions; }
std::span<const InputKind> input_kinds() { return kInputKinds; }

Error rows_differ(const std::string& input) {
  if (std::optional<Error> error = several_datasets(input)) return *error;
  return Error(Code::unsupported,
               "its samples are not stored as rows of one size, and only such rows can be drawn")
      .at(input)
      .hint(
          "run 'shale convert --shuffle' to write any samples in a shuffled order; to draw some "
          "more "
          "often, give shale.torch.Loader weights=; where all have one size, convert them with "
          "--to "
          "npy first");
}

}  // namespace shale
