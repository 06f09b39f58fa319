#include "shale/requests/combinations.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/layout.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

using Request = const ConvertRequest&;

// ---- what is given

bool has_append(Request request) { return request.is_append; }
bool has_shard_size(Request request) { return request.asked.shard_bytes.has_value(); }
bool has_shard_samples(Request request) { return request.asked.shard_samples.has_value(); }
bool has_shards(Request request) { return request.shards > 0; }
bool has_compress(Request request) { return request.asked.compression.has_value(); }
bool has_index(Request request) { return request.asked.with_index; }
bool has_verify(Request request) { return request.verify; }
bool has_overwrite(Request request) { return request.overwrite; }
bool has_part(Request request) { return request.order.part.has_value(); }
bool has_choice(Request request) { return !request.order.choice.is_all(); }
bool has_limit(Request request) { return request.order.choice.limit > 0; }
bool has_lists(Request request) {
  const SampleChoice& choice = request.order.choice;
  return !choice.select_file.empty() || !choice.exclude_file.empty() || request.split.has_files();
}
bool has_listed_samples(Request request) { return request.split.is_empty() && has_lists(request); }
bool has_class_names(Request request) { return !request.order.choice.classes.empty(); }
bool has_no_lists(Request request) { return !has_lists(request); }
bool has_keys(Request request) { return request.order.choice.keys != KeyForm::automatic; }
bool lists_on_stdin(Request request) {
  const SampleChoice& choice = request.order.choice;
  return choice.select_file == kStdin || choice.exclude_file == kStdin;
}
bool reads_stdin(Request request) {
  return std::ranges::find(request.inputs, kStdin) != request.inputs.end();
}
bool has_listing(Request request) { return !request.files.listing.shared.empty(); }
bool has_classes(Request request) { return !request.classes.from.empty(); }
bool has_class_order(Request request) { return request.classes.order != ClassOrder::bytewise; }
bool has_new_classes(Request request) { return request.classes.adds; }
bool has_drop(Request request) { return !request.fields.dropped.empty(); }
bool is_lossy(Request request) { return request.fields.is_lossy; }
bool has_no_casts(Request request) { return request.fields.casts.empty(); }
bool has_fields(Request request) { return !request.fields.only.empty(); }
bool names_fields(Request request) {
  return !request.fields.takes_all() || request.fields.renames();
}
bool has_split_by(Request request) { return request.split_by != SplitBy::none; }
bool has_split(Request request) { return !request.split.is_empty(); }
bool has_suffixes(Request request) { return !request.files.suffixes.empty(); }
bool has_groups(Request request) { return request.files.groups_frames; }
bool has_seed(Request request) { return request.asked.has_seed; }
bool keeps_bad(Request request) { return request.on_error == OnError::keep; }
bool has_other_format(Request request) {
  return request.asked.format && format_named(*request.asked.format).name != request.format;
}

// ---- what it is with

template <OutputKind... kinds>
bool writes(Request request) {
  const OutputKind kind = kind_of_output(request);
  return ((kind == kinds) || ...);
}
constexpr auto kToOneFile = writes<OutputKind::array, OutputKind::archive, OutputKind::tensors,
                                   OutputKind::container_file, OutputKind::stream>;
constexpr auto kToShards = writes<OutputKind::shards, OutputKind::appended>;
constexpr auto kToArchive = writes<OutputKind::archive>;
constexpr auto kToClasses = writes<OutputKind::class_files>;
constexpr auto kToLists = writes<OutputKind::list_files>;
constexpr auto kToStdout = writes<OutputKind::stream>;
constexpr auto kToAppended = writes<OutputKind::appended>;

bool is_no_archive(Request request) { return !kToArchive(request); }
bool is_layout_file(Request request) {
  const Layout* const layout = layout_of(request);
  return kToOneFile(request) && layout != nullptr && layout->writes != Layout::Writes::anything;
}
bool is_file_without_lists(Request request) {
  const Layout* const layout = layout_of(request);
  return kToOneFile(request) && (layout == nullptr || layout->lists == nullptr);
}
bool is_no_append(Request request) { return !request.is_append; }
bool is_in_order(Request request) {
  const bool has_shares = !request.split.is_empty() && !request.split.has_files();
  return !request.order.is_shuffled && !has_shares;
}
bool encodes_raw(Request request) {
  return std::ranges::any_of(request.images.encode,
                             [](const auto& entry) { return entry.second == EncodeAs::raw; });
}

// ---- the table

constexpr std::string_view kOneFile = "one file", kClassFiles = "a file per class",
                           kListFiles = "a file per list", kAStream = "- as output",
                           kLeaveOut = "leave it out", kEither = "leave out one of the two";
constexpr std::string_view kIdleForFile =
                               "--{option} has no effect on an output that is one {file}",
                           kIdleForFileHint =
                               "leave it out, or choose an output directory and pass --to";
constexpr std::string_view kNotForStdout =
    "--{option}: what goes to stdout is neither kept nor read again";
constexpr std::string_view kIdleByClass =
    "--layout {layout} with --{option}: each class is one file, written without an index";
constexpr std::string_view kIdleByList =
    "--{option} does not go with --layout {layout}: it writes whole {container} files";
constexpr std::string_view kByClassWants = "--{option}: layout {layout} holds images";
constexpr std::string_view kNotForLayout =
    "--layout {layout} with --{option}: such a file is written without an index";
constexpr std::string_view kNotForLayoutHint =
    "leave it out; 'shale index --crc' and 'shale verify' are for it as for any file of another "
    "tool";
constexpr std::string_view kNotByAppend = "--{option} and --append exclude each other";
constexpr std::string_view kListsChoose = "name the videos that are taken in the files of --split";
constexpr std::string_view kSplitsOfFile =
    "--split makes a dataset for each of its parts, but the output is one file";
constexpr std::string_view kSplitHint =
    "choose a directory as output and pass --to, or run once for each part, with --select FILE";
constexpr std::string_view kForOneSet =
    "--{option} is for one dataset, but the input holds splits, and becomes several";
constexpr std::string_view kNotForStream =
    "--{option} is not for a stream, which is read once, in its own order";
constexpr std::string_view kNotForStreamHint =
    "leave out the option; or write the archive to a .tar file, decompressed, which is read in "
    "place "
    "and takes it";

// Lines that read aloud; clang-format would break each into six.
// clang-format off
constexpr Exclusion kExclusions[] = {
    {"to", kListFiles, has_other_format, kToLists, kIdleByList, kLeaveOut},
    {"shard-size", kListFiles, has_shard_size, kToLists, kIdleByList, kLeaveOut},
    {"shard-samples", kListFiles, has_shard_samples, kToLists, kIdleByList, kLeaveOut},
    {"shards", kListFiles, has_shards, kToLists, kIdleByList, kLeaveOut},
    {"compress", kListFiles, has_compress, kToLists, kIdleByList, kLeaveOut},
    {"append", kListFiles, has_append, kToLists, kIdleByList, kLeaveOut},
    {"with-index", kListFiles, has_index, kToLists, kIdleByList, kLeaveOut},
    {"verify", kListFiles, has_verify, kToLists, kIdleByList, kLeaveOut},
    {"append", kOneFile, has_append, kToOneFile, "--{option}: an output that is one file cannot be appended to", "choose a directory of shards as output, and pass --to when it is begun"},
    {"shard-size", kOneFile, has_shard_size, kToOneFile, kIdleForFile, kIdleForFileHint},
    {"shard-samples", kOneFile, has_shard_samples, kToOneFile, kIdleForFile, kIdleForFileHint},
    {"shards", kOneFile, has_shards, kToOneFile, kIdleForFile, kIdleForFileHint},
    {"with-index", "an .npz archive", has_index, kToArchive, "--{option}: an .npz archive has no index; NumPy reads it as it is", kLeaveOut},
    {"with-index", "shards", has_index, kToShards, "--{option} is for an output that is one file; shards always have one", kLeaveOut},
    {"compress", "any output but an .npz archive", has_compress, is_no_archive, "--{option} is for .npz outputs: all others are read in place", kLeaveOut},
    {"verify", kClassFiles, has_verify, kToClasses, kIdleByClass, kLeaveOut},
    {"append", kClassFiles, has_append, kToClasses, kIdleByClass, kLeaveOut},
    {"shard-size", kClassFiles, has_shard_size, kToClasses, kIdleByClass, kLeaveOut},
    {"shard-samples", kClassFiles, has_shard_samples, kToClasses, kIdleByClass, kLeaveOut},
    {"shards", kClassFiles, has_shards, kToClasses, kIdleByClass, kLeaveOut},
    {"with-index", kClassFiles, has_index, kToClasses, kIdleByClass, kLeaveOut},
    {"with-index", "a file of a layout", has_index, is_layout_file, kNotForLayout, kNotForLayoutHint},
    {"verify", "a file of a layout", has_verify, is_layout_file, kNotForLayout, kNotForLayoutHint},
    {"with-index", kAStream, has_index, kToStdout, kNotForStdout, kLeaveOut, false},
    {"verify", kAStream, has_verify, kToStdout, kNotForStdout, kLeaveOut, false},

    {"seed", "neither --shuffle nor shares in --split", has_seed, is_in_order, "--{option} has no effect without --shuffle, or shares in --split", "leave it out, or pass --shuffle", false},
    {"keys", "neither --select nor --exclude", has_keys, has_no_lists, "--{option} says how --select, --exclude and files of --split name samples, but there is none of them", kLeaveOut, false},
    {"select -", "stdin as input", lists_on_stdin, reads_stdin, "stdin cannot be both the input and the list of --select or --exclude", "write the list into a file", false},
    {"new-classes", "no --append", has_new_classes, is_no_append, "--{option} has no effect without --append", "leave it out, or pass --append", false},
    {"drop", "--fields", has_drop, has_fields, "--{option} and --fields exclude each other", "name the fields that are wanted with --fields alone", false},
    {"lossy", "no --cast", is_lossy, has_no_casts, "--{option} has no effect without --cast", kLeaveOut, false},
    {"part", kOneFile, has_part, kToOneFile, kIdleForFile, kIdleForFileHint},
    {"part", kClassFiles, has_part, kToClasses, kIdleByClass, kLeaveOut},
    {"part", "--append", has_part, kToAppended, kNotByAppend, kEither},

    {"split", kOneFile, has_split, is_file_without_lists, kSplitsOfFile, kSplitHint},
    {"split", kClassFiles, has_split, kToClasses, "--split makes a dataset for each of its parts, but --layout {layout} is not one", kSplitHint},
    {"on-error keep", "--encode raw", keeps_bad, encodes_raw, "--{option} with --encode raw: an image that does not decode has no pixels to keep", "pass --on-error skip or fail", false},
    {"part", kListFiles, has_part, kToLists, "--{option} has no effect with --layout {layout}", kListsChoose},
    {"classes", kListFiles, has_class_names, kToLists, "--{option} has no effect with --layout {layout}", kListsChoose},
    {"limit", kListFiles, has_limit, kToLists, "--{option} has no effect with --layout {layout}", kListsChoose},
    {"select or --exclude", kListFiles, has_choice, kToLists, "--{option} has no effect with --layout {layout}", kListsChoose},
    {"group frames", kClassFiles, has_groups, kToClasses, kByClassWants, kLeaveOut},
    {"ext", kClassFiles, has_suffixes, kToClasses, kByClassWants, kLeaveOut},
    {"split-by", kOneFile, has_split_by, kToOneFile, "--{option} makes a dataset for each split, but the output is one file", "choose a directory as output and pass --to, or run once for each split, with --fields"},
    {"split-by", kClassFiles, has_split_by, kToClasses, kIdleByClass, kLeaveOut},
    {"split-by", kListFiles, has_split_by, kToLists, kIdleByList, kLeaveOut},
    {"split-by", "--split", has_split_by, has_split, "--{option} and --split exclude each other", kEither},
    {"split-by", "--fields, --drop or --rename", has_split_by, names_fields, "--{option} excludes --fields, --drop and --rename", "run once for each split, with --fields and --rename"},
    {"append", "--split", has_append, has_split, "--{option} is for one dataset, but --split makes several", "append one split at a time: name its folder, and its dataset"},
    {"overwrite", "--append", has_overwrite, kToAppended, kNotByAppend, "leave out --overwrite: an append replaces nothing"},
    {"listing", "--append", has_listing, kToAppended, kNotByAppend, kEither},
    {"classes-from", "--append", has_classes, kToAppended, kNotByAppend, "leave it out: the class table is that of the dataset"},
    {"class-order", "--append", has_class_order, kToAppended, kNotByAppend, "leave it out: the class table is that of the dataset"},
    {"class-order", "--classes-from", has_class_order, has_classes, "--{option} and --classes-from exclude each other: both say what the labels are", kEither},
    {"class-order", kStream, has_class_order, nullptr, kNotForStream, kNotForStreamHint},

    {"append", kFolderOfSplits, has_append, nullptr, kForOneSet, "append one split at a time: name its folder, and its dataset"},
    {"select", kFolderOfSplits, has_listed_samples, nullptr, kForOneSet, "convert each split by itself, with --select or --exclude and --classes-from"},
    {"listing", kFolderOfSplits, has_listing, nullptr, kForOneSet, kLeaveOut},
    {"append", kStream, has_append, nullptr, kNotForStream, kNotForStreamHint},
    {"split", kStream, has_split, nullptr, kNotForStream, kNotForStreamHint},
    {"layout", kStream, kToClasses, nullptr, "--layout {layout} is not for a stream, which is read once, in its own order", kNotForStreamHint},
};
// clang-format on

std::string filled(std::string_view text, const Exclusion& row, Request request) {
  const Layout* const layout = layout_of(request);
  const std::array<std::pair<std::string_view, std::string_view>, 4> words{{
      {"{option}", row.option},
      {"{layout}", request.layout},
      {"{container}", layout != nullptr ? layout->container : ""},
      {"{file}", kind_of_output(request) == OutputKind::array ? ".npy array" : "file"},
  }};
  std::string full(text);
  for (const auto& [name, word] : words) {
    if (const std::size_t at = full.find(name); at != std::string::npos)
      full.replace(at, name.size(), word);
  }
  return full;
}

Error refusal(const Exclusion& row, Request request) {
  Error error(Code::usage, "{}", filled(row.reason, row, request));
  if (!row.hint.empty()) error.hint(row.hint);
  return error;
}

}  // namespace

std::span<const Exclusion> exclusions() { return kExclusions; }

void refuse_combinations(const ConvertRequest& request) {
  for (const Exclusion& row : kExclusions) {
    if (row.is_with == nullptr || !row.is_with(request) || !row.is_given(request)) continue;
    Error error = refusal(row, request);
    if (row.names_output) error.at(request.output);
    throw Error(error);
  }
}

void refuse_combinations(const ConvertRequest& request, std::string_view input) {
  for (const Exclusion& row : kExclusions) {
    if (row.is_with == nullptr && row.with == input && row.is_given(request))
      throw Error(refusal(row, request).at(request.inputs.front()));
  }
}

void refuse_idle_columns(const LabelFile& labels) {
  const bool has_list = labels.columns().size() > 1;
  if (!labels.separator.empty() && has_list)
    throw Error(Code::usage, "--label-separator goes with one --label-column, not with '{}'",
                printable(labels.label_column))
        .hint("name the column whose cells hold several labels");
  if (!labels.path.empty() && !labels.pattern.empty())
    throw Error(Code::usage, "--labels and --label-from exclude each other")
        .hint("leave out one of the two");
  if (!labels.path.empty()) return;
  const std::string_view idle = !labels.label_column.empty()   ? "label-column"
                                : !labels.key_column.empty()   ? "key-column"
                                : !labels.separator.empty()    ? "label-separator"
                                : !labels.strip_prefix.empty() ? "strip-prefix"
                                                               : "";
  if (idle.empty()) return;
  throw Error(Code::usage, "--{} needs --labels, the file that {}", idle,
              idle.ends_with("column")      ? "has the column"
              : idle.ends_with("separator") ? "has such cells"
                                            : "has such paths")
      .hint("leave it out, or pass --labels FILE");
}

bool take_no_labels(LabelFile& labels) {
  if (labels.path != "none" || facts_behind(labels.path)) return false;
  labels.path.clear();
  return true;
}

void take_no_labels(InputRequest& request) {
  const bool is_taken = request.fields.only.empty() && request.fields.takes(kLabelField);
  if (take_no_labels(request.labels) && is_taken) request.fields.dropped.emplace_back(kLabelField);
}

void refuse_idle_offset(bool has_raw, bool has_offset) {
  if (has_raw || !has_offset) return;
  throw Error(Code::usage, "--raw-offset has no effect without --raw")
      .hint("leave it out, or pass --raw with the type of the numbers");
}

void refuse_idle_group(const SplitRequest& split) {
  if (split.group.empty() || (!split.is_empty() && !split.has_files())) return;
  throw Error(Code::usage,
              "--split-group needs shares in --split, which it keeps samples together in")
      .hint("pass --split train=0.9,val=0.1, or leave it out");
}

void refuse_idle_labels(const VerifyRequest& request) {
  refuse_idle_columns(request.labels);
  if (request.labels.is_given() && request.against.empty())
    throw Error(Code::usage, "--labels needs --against, the folder that the labels belong to");
}

}  // namespace shale
