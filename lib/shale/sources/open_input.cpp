#include "shale/sources/open_input.hpp"

#include <filesystem>
#include <random>
#include <utility>

#include <unistd.h>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/tar_stream.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/file_list.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/folders/list_source.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/sources/array_source.hpp"
#include "shale/sources/dataset_source.hpp"
#include "shale/sources/drawn_source.hpp"
#include "shale/sources/named_folders.hpp"
#include "shale/sources/part_source.hpp"
#include "shale/sources/transformed_source.hpp"
#include "shale/sources/unique_keys.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

Error not_read_yet(const std::string& input, std::string_view kind) {
  return Error(Code::unsupported, "{} is not supported yet as input", kind)
      .at(input)
      .hint(
          "this version reads image folders, flat folders with --labels, .tar archives of both, "
          ".npy and .npz arrays, shale datasets, and LMDB, HDF5 and TFRecord files");
}

// A dataset brings its labels and classes along: an option that would change nothing is refused,
// not ignored.
void refuse_folder_options(const InputRequest& request) {
  const std::string_view option = !request.labels.path.empty() ? "--labels"
                                  : !request.classes.from.empty() && !request.classes.extends_set
                                      ? "--classes-from"
                                  : !request.files.listing.shared.empty()       ? "--listing"
                                  : request.files.hidden != HiddenPolicy::unset ? "--hidden"
                                  : request.files.groups_frames                 ? "--group"
                                  : !request.files.suffixes.empty()             ? "--ext"
                                  : request.files.pairs.is_given                ? "--pairs"
                                                                                : "";
  if (option.empty()) return;
  throw Error(Code::usage, "{} is for folders of images, but the input is not one", option)
      .at(request.inputs.front())
      .hint("leave out the option: a dataset has its own samples, labels and classes");
}

// For arrays in Fortran order; the rest of --memory is for writing and for samples in flight.
constexpr std::string_view kSingleFile = "a single file", kCompressedFile = "a compressed file";

std::string_view kind_of_file(const std::string& path) {
  const std::string suffix = fs::path(path).extension().string();
  if (suffix == ".gz" || suffix == ".tgz" || suffix == ".zst" || suffix == ".xz" ||
      suffix == ".bz2")
    return kCompressedFile;
  return kSingleFile;
}

ArrayRequest array_request(const InputRequest& request, ArrayColumns arrays,
                           const std::string& scratch_folder) {
  refuse_folder_options(request);
  refuse_file_options(request.inputs.front(), "arrays", request.container.index_folder,
                      request.container.dialect);
  return {.arrays = std::move(arrays),
          .scratch_folder = scratch_folder,
          .memory_bytes = array_memory(request.memory_bytes)};
}

OpenedDataset open_dataset_of(const InputRequest& request, const Events& events) {
  refuse_folder_options(request);
  return open_dataset({.path = request.inputs.front(),
                       .index_folder = request.container.index_folder,
                       .dialect = request.container.dialect,
                       .generator = request.generator,
                       .memory_bytes = request.memory_bytes,
                       .may_unpack = true,
                       .proves_container = true},
                      events);
}

Error unknown_file(const std::string& input) {
  const std::string suffix = fs::path(input).extension().string();
  const std::string_view kind = kind_of_file(input);
  if (kind == kSingleFile && InputFile(input).size() == 0) {
    return Error(Code::unsupported, "is empty")
        .at(input)
        .hint("write it again, or restore it from an intact copy");
  }
  if (kind == kCompressedFile) {
    return Error(Code::unsupported,
                 "is not a tar archive that is compressed with gzip or zstd, and other compressed "
                 "files are not supported as input")
        .at(input)
        .hint(
            "decompress it on the way: 'xz -dc x.tar.xz | shale convert - OUTPUT ...'; or "
            "decompress "
            "it first");
  }
  if (suffix == ".tar") {
    return Error(Code::unsupported, "does not start like a tar archive")
        .at(input)
        .hint("restore it from an intact copy; if it is compressed, decompress it");
  }
  const bool is_of_numpy = suffix == ".npy" || suffix == ".npz";
  if (is_of_numpy || suffix == ".pt" || suffix == ".safetensors") {
    return Error(Code::unsupported, "does not start like {} file",
                 (is_of_numpy ? "an " : "a ") + suffix)
        .at(input)
        .hint(fmt::format("save it again{}, or restore it from an intact copy",
                          is_of_numpy ? " with NumPy" : ""));
  }
  return not_read_yet(input, kind);
}

// True for a folder of files; what is neither that nor a dataset is refused by name.
bool is_folder(const InputRequest& request) {
  if (request.inputs.size() != 1) {
    throw Error(Code::usage, "{} inputs, none of which is an array", request.inputs.size())
        .at(request.inputs.front())
        .hint(
            "pass several inputs as .npy files, or as folders whose files belong together, each "
            "with a name: image=photos mask=masks");
  }
  const std::string& input = request.inputs.front();
  if (archive_of_path(input)) return true;
  if (stream_of_path(input)) return true;
  const Place place = look_at(input);
  switch (place) {
    case Place::absent:
      throw absent(input);
    case Place::unfinished:
      throw unfinished(input);
    case Place::other_file:
      if (detect_file(InputFile(input)) == nullptr && !files_of_list(input))
        throw unknown_file(input);
      break;
    case Place::dataset:
    case Place::empty_folder:
    case Place::other_folder:
      break;
  }
  return place != Place::dataset && !file_of_path(input);
}

Error rows_differ(const std::string& input) {
  return Error(Code::unsupported,
               "its samples are not stored as rows of one size, and only such rows can be drawn")
      .at(input)
      .hint(
          "run 'shale convert --shuffle' to write any samples in a shuffled order; where all have "
          "one size, convert them with --to npy first");
}

// A shuffle of rows of one size is a draw too.
std::optional<DrawRequest> draw_of(const InputRequest& request) {
  if (request.order.draw || !request.order.is_shuffled) return request.order.draw;
  return DrawRequest{
      .mode = DrawMode::permute, .rows = std::nullopt, .seed = request.order.seed, .file = {}};
}

// The first process that comes makes the list; it is there as a whole, or not at all.
void make_listing(FolderRequest folder, const std::string& listing) {
  std::vector<std::string> roots = {folder.root};
  for (const NamedFolder& one : folder.folders) roots.push_back(one.root);
  refuse_nested({listing}, roots);
  folder.is_shuffled = false;
  folder.chosen = nullptr;
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
  if (!stands(listing)) make_listing(folder, listing);
  folder.files.listing.stored = listing;
  folder.files.listing.is_needed = true;
  folder.files.listing.written.clear();
}

FolderRequest folder_request(const InputRequest& request, const std::string& scratch_folder,
                             const Events& events) {
  return {.root = request.inputs.front(),
          .labels = request.labels,
          .classes = request.classes,
          .files = request.files,
          .is_shuffled = request.order.is_shuffled,
          .seed = request.order.seed,
          .scratch_folder = scratch_folder,
          .memory_bytes = list_memory(request.memory_bytes),
          .all_memory_bytes = request.memory_bytes,
          .stop_if_asked = [&events] { events.stop_if_asked(); },
          .enters = refuse_folders_with(request.output, request.inputs.front()),
          .tree = request.tree};
}

// What needs to know all samples before the first one, or to find one again.
void refuse_stream_options(const InputRequest& request) {
  const std::string_view option = request.order.is_shuffled               ? "--shuffle"
                                  : request.files.groups_frames           ? "--group"
                                  : !request.files.listing.shared.empty() ? "--listing"
                                  : !request.fields.empty()               ? "--fields"
                                  : request.files.pairs.is_given          ? "--pairs"
                                                                          : "";
  if (!option.empty()) throw not_for_stream(request.inputs.front(), option);
  refuse_file_options(request.inputs.front(), "a tar archive", request.container.index_folder,
                      request.container.dialect);
}

// What is said in the list itself, or means nothing for it.
void refuse_options_of_lists(const InputRequest& request) {
  const std::string_view option = !request.labels.path.empty()                  ? "--labels"
                                  : !request.files.listing.shared.empty()       ? "--listing"
                                  : request.files.hidden != HiddenPolicy::unset ? "--hidden"
                                  : request.files.groups_frames                 ? "--group"
                                  : request.files.pairs.is_given                ? "--pairs"
                                  : !request.fields.empty()                     ? "--fields"
                                                                                : "";
  if (!option.empty()) {
    throw Error(Code::usage, "{} is not for a list of files", option)
        .at("stdin")
        .hint(option == "--labels" ? "write path<TAB>label in every line" : "leave out the option");
  }
  refuse_file_options("stdin", "a list of files", request.container.index_folder,
                      request.container.dialect);
}

// Of request.stdin_copy.
std::unique_ptr<Source> open_list_on_stdin(const InputRequest& request,
                                           const std::shared_ptr<ChosenRows>& chosen,
                                           const std::string& scratch_folder,
                                           const Events& events) {
  if (request.inputs.front() != kStdin) {
    throw Error(Code::usage, "stdin is a list of files, in which there are no folders")
        .at(request.inputs.front())
        .hint("pass '-', and list only the files that are wanted");
  }
  if (request.order.draw) throw rows_differ("stdin");
  refuse_options_of_lists(request);
  FolderRequest list = folder_request(request, scratch_folder, events);
  list.root = "stdin";
  list.chosen = chosen;
  return open_list(request.stdin_copy->path(), list);
}

// Null for an input that is not read as a stream. A list of files on stdin is kept, and then read
// as often as it takes.
std::unique_ptr<Source> open_stream_source(const InputRequest& request,
                                           const std::shared_ptr<ChosenRows>& chosen,
                                           const std::string& scratch_folder,
                                           const Events& events) {
  const std::string& input = request.inputs.front();
  if (request.inputs.size() != 1 || archive_of_path(input)) return nullptr;
  const std::optional<StreamPath> path = stream_of_path(input);
  if (!path) return nullptr;
  if (is_stdin(*path) && request.stdin_copy->is_whole())
    return open_list_on_stdin(request, chosen, scratch_folder, events);
  const FolderRequest folder = folder_request(request, scratch_folder, events);
  auto stream = std::make_unique<InputStream>(path->file, folder.stop_if_asked);
  if (is_stdin(*path) && keep_if_list(*request.stdin_copy, *stream))
    return open_list_on_stdin(request, chosen, scratch_folder, events);
  if (request.order.draw) throw rows_differ(input);
  refuse_stream_options(request);
  OpenedStream opened =
      open_stream(*path, std::move(stream), request.memory_bytes, folder.stop_if_asked);
  return open_tar_stream(*path, std::move(opened), folder);
}

// Of a folder, or of several that are joined.
void refuse_options_of_files(const InputRequest& request, bool are_joined) {
  const std::string& input = request.inputs.front();
  refuse_file_options(input, "a folder", request.container.index_folder, request.container.dialect);
  if (!request.fields.empty()) {
    throw Error(Code::usage,
                "--fields is for datasets and arrays, but the input is a folder of images")
        .at(input)
        .hint("leave out the option");
  }
  if (request.files.groups_frames && !request.files.suffixes.empty()) {
    throw Error(Code::usage, "--group frames takes images, and --ext takes other files")
        .at(input)
        .hint("leave out one of the two");
  }
  if (request.files.groups_frames && request.files.pairs.is_given) {
    throw Error(Code::usage, "--group and --pairs exclude each other: frames have no partners")
        .at(input)
        .hint("leave out one of the two");
  }
  if (!are_joined) return;
  const std::string_view option = request.files.groups_frames    ? "--group"
                                  : request.files.pairs.is_given ? "--pairs"
                                                                 : "";
  if (option.empty()) return;
  throw Error(Code::usage, "{} is for one folder, but the input is several that are joined", option)
      .at(input)
      .hint("leave out the option");
}

// `folders`: those that are joined, or none.
std::unique_ptr<Source> open_files(const InputRequest& request, std::vector<NamedFolder> folders,
                                   const std::shared_ptr<ChosenRows>& chosen,
                                   const std::string& scratch_folder, const Events& events) {
  if (request.order.draw) throw rows_differ(request.inputs.front());
  refuse_options_of_files(request, !folders.empty());
  FolderRequest folder = folder_request(request, scratch_folder, events);
  folder.chosen = chosen;
  if (folders.empty()) {
    if (!folder.tree) folder.tree = open_tree_of_archive(folder);
  } else {
    for (NamedFolder& one : folders) one.enters = refuse_folders_with(request.output, one.root);
    folder.root = folders.front().root;
    folder.enters = folders.front().enters;
    folder.files.pairs = {};
    folder.folders = std::move(folders);
  }
  if (!request.files.listing.shared.empty())
    use_shared_listing(folder, request.files.listing.shared);
  return request.files.groups_frames ? open_frames(folder) : open_folder(folder);
}

// `chosen`: the rows that are taken, but of rows of one size; null: all.
std::unique_ptr<Source> open_samples(const InputRequest& request,
                                     const std::shared_ptr<ChosenRows>& chosen,
                                     const std::string& scratch_folder, const Events& events) {
  const std::string& scratch =
      request.scratch_folder.empty() ? scratch_folder : request.scratch_folder;
  const std::optional<DrawRequest> draw = draw_of(request);
  const DrawLimits limits{.jobs = request.jobs,
                          .memory_bytes = array_memory(request.memory_bytes),
                          .scratch_folder = scratch};
  std::vector<NamedFolder> folders = find_named_folders(request.inputs);
  if (!folders.empty())
    return open_files(request, std::move(folders), chosen, scratch_folder, events);
  if (std::optional<ArrayColumns> arrays = find_array_columns(request.inputs, request.fields)) {
    ArrayRequest rows = array_request(request, std::move(*arrays), scratch);
    return draw ? make_drawn_source(table_of_arrays(rows, events), *draw, limits, events)
                : open_array_source(std::move(rows), events);
  }
  if (std::unique_ptr<Source> stream = open_stream_source(request, chosen, scratch_folder, events))
    return stream;
  if (!is_folder(request)) {
    OpenedDataset dataset = open_dataset_of(request, events);
    if (draw) {
      if (std::optional<RowTable> table = table_of_dataset(dataset, request.fields))
        return make_drawn_source(std::move(*table), *draw, limits, events);
    }
    if (request.order.draw) throw rows_differ(request.inputs.front());
    const auto stop_if_asked = [&events] { events.stop_if_asked(); };
    if (dataset.manifest.layout.is_of_one_file() && dataset.manifest.layout.has_keys)
      refuse_equal_keys(dataset, scratch, stop_if_asked);
    return make_dataset_source(std::move(dataset), {.is_shuffled = request.order.is_shuffled,
                                                    .seed = request.order.seed,
                                                    .fields = request.fields,
                                                    .chosen = chosen,
                                                    .stop_if_asked = stop_if_asked});
  }
  return open_files(request, {}, chosen, scratch_folder, events);
}

}  // namespace

RowTable open_row_table(const InputRequest& request, const std::string& scratch_folder,
                        const Events& events) {
  if (std::optional<ArrayColumns> arrays = find_array_columns(request.inputs, request.fields))
    return table_of_arrays(array_request(request, std::move(*arrays), scratch_folder), events);
  if (is_folder(request)) throw rows_differ(request.inputs.front());
  std::optional<RowTable> table =
      table_of_dataset(open_dataset_of(request, events), request.fields);
  if (!table) throw rows_differ(request.inputs.front());
  return std::move(*table);
}

namespace {

// Rows of one size are drawn: the list of rows is in a file that goes with the source.
std::unique_ptr<Source> open_chosen_rows(const InputRequest& request, ChosenRows& chosen,
                                         const std::string& scratch_folder, const Events& events) {
  const std::string& scratch =
      request.scratch_folder.empty() ? scratch_folder : request.scratch_folder;
  RowTable table = open_row_table(request, scratch, events);
  table.info.chosen = chosen.hash();
  table.info.manifest.fingerprint = chosen.fingerprint_of(table.info.manifest.fingerprint);
  const NamelessFile rows(scratch);
  chosen.write_array(
      rows, request.order.is_shuffled ? std::optional(request.order.seed) : std::nullopt, events);
  return make_drawn_source(
      std::move(table),
      {.mode = DrawMode::indices, .rows = std::nullopt, .seed = 0, .file = rows.link()},
      {.jobs = request.jobs,
       .memory_bytes = array_memory(request.memory_bytes),
       .scratch_folder = scratch},
      events);
}

std::unique_ptr<Source> open_untouched(const InputRequest& request,
                                       const std::string& scratch_folder, const Events& events) {
  if (request.order.part) {
    InputRequest whole = request;
    whole.order.part.reset();
    std::unique_ptr<Source> source = open_untouched(whole, scratch_folder, events);
    refuse_for_stream(*source, request.inputs.front(), "--part");
    return make_part_source(std::move(source), *request.order.part);
  }
  if (request.order.choice.is_all()) return open_samples(request, nullptr, scratch_folder, events);
  InputRequest whole = request;
  whole.order.choice = {};
  whole.order.is_shuffled = false;
  std::unique_ptr<Source> source = open_samples(whole, nullptr, scratch_folder, events);
  refuse_for_stream(*source, request.inputs.front(),
                    request.order.choice.select_file.empty() ? "--exclude" : "--select");
  const bool is_fixed = source->info().row_bytes.has_value();
  const auto chosen = std::make_shared<ChosenRows>(request.order.choice, *source, scratch_folder,
                                                   list_memory(request.memory_bytes), events);
  source.reset();
  if (is_fixed) return open_chosen_rows(request, *chosen, scratch_folder, events);
  whole.order.is_shuffled = request.order.is_shuffled;
  // The list that was made a moment ago, if the folder was walked.
  std::error_code error;
  if (fs::exists(whole.files.listing.written, error))
    whole.files.listing.stored = whole.files.listing.written;
  whole.files.listing.written.clear();
  return open_samples(whole, chosen, scratch_folder, events);
}

}  // namespace

std::unique_ptr<Source> open_input(const InputRequest& request, const std::string& scratch_folder,
                                   const Events& events) {
  std::unique_ptr<Source> source = open_untouched(request, scratch_folder, events);
  if (request.images.is_empty()) return source;
  return make_transformed_source(std::move(source), request.images, request.inputs.front());
}

}  // namespace shale
