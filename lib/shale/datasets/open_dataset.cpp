#include "shale/datasets/open_dataset.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/datasets/file_list.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/format/format.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

void read_into(OpenedDataset& dataset, std::uint64_t memory_bytes) {
  dataset.shards = open_shard_list(dataset.paths, memory_bytes);
  dataset.manifest = dataset.shards.manifest();
}

// What a file that cannot be indexed is unpacked into, with notes; nullopt if that is of no help.
struct UnpackedFile {
  std::shared_ptr<const NamelessFile> file;
  UnpackReport report;
};
std::optional<UnpackedFile> unpack(const ForeignRequest& indexing, const Events& events) {
  const InputFile input(indexing.file);
  const Format& format = format_of_file(input);
  if (format.unpack == nullptr) return std::nullopt;
  UnpackedFile unpacked{std::make_shared<const NamelessFile>(indexing.scratch_folder), {}};
  bool is_announced = false;
  const auto progress = [&](std::uint64_t done, std::uint64_t all) {
    events.of_walk()(done, all);
    if (all == 0 || std::exchange(is_announced, true)) return;
    events.say(fmt::format("{}: its samples cannot be located in place; unpacking {} into {}",
                           printable(indexing.file), format_size(all),
                           printable(indexing.scratch_folder)));
  };
  std::optional<UnpackReport> report = format.unpack({.file = input,
                                                      .into = *unpacked.file,
                                                      .memory_bytes = indexing.memory_bytes,
                                                      .dialect = indexing.dialect,
                                                      .progress = progress});
  if (!report) return std::nullopt;
  unpacked.report = std::move(*report);
  return unpacked;
}

void make_index(OpenedDataset& dataset, const ForeignRequest& indexing, const Events& events) {
  NamelessIndex index = index_without_name(indexing, events);
  dataset.paths = std::move(index.paths);
  dataset.shards = ShardList(index.manifest, {std::move(index.shard)});
  dataset.manifest = std::move(index.manifest);
  dataset.notes = std::move(index.notes);
  dataset.temporary_index = std::move(index.files);
}

// False, and nothing done: that is of no help.
bool index_unpacked(OpenedDataset& dataset, ForeignRequest indexing, const Events& events) {
  std::optional<UnpackedFile> unpacked = unpack(indexing, events);
  if (!unpacked) return false;
  indexing.file = unpacked->file->link();
  if (indexing.dialect) indexing.dialect = Dialect::plain;  // whatever the file was
  make_index(dataset, indexing, events);
  dataset.notes = std::move(unpacked->report.notes);
  dataset.manifest.left_out = std::move(unpacked->report.left_out);
  using Kept = std::vector<std::shared_ptr<const void>>;
  dataset.temporary_index =
      std::make_shared<const Kept>(Kept{dataset.temporary_index, unpacked->file});
  return true;
}

// Makes an index for the time being where the one of a file is missing, or is not what is wanted.
void index_for_now(OpenedDataset& dataset, const DatasetRequest& request, ForeignRequest indexing,
                   const Events& events) {
  try {
    (void)NamelessFile(temporary_folder());
    indexing.scratch_folder = temporary_folder();
  } catch (const Error&) {
    const bool fits = InputFile(indexing.file).size() <= request.memory_bytes / 4;
    if (!fits || request.with_checksums) throw;
    try {
      return make_index(dataset, indexing, events);
    } catch (const Error& refusal) {
      if (!request.may_unpack || refusal.code() != Code::unsupported) throw;
    }
    throw;  // for want of the folder to unpack into
  }
  try {
    make_index(dataset, indexing, events);
  } catch (const Error& error) {
    if (!request.may_unpack || error.code() != Code::unsupported) throw;
    if (!index_unpacked(dataset, indexing, events)) throw;
  }
}

void prove_container(const OpenedDataset& dataset, const std::string& path, const Events& events) {
  const Manifest& manifest = dataset.manifest;
  const Format& format = format_of(manifest);
  if (!format.can.self_checksummed || manifest.layout.has_checksums) return;
  std::vector<InputFile> files;
  files.emplace_back(path);
  format.scan(
      {.files = files,
       .schema = manifest.schema,
       .layout = manifest.layout,
       .reads_payload = true,
       .progress = events.of_walk()},
      OptionSet(format.options), [](const IndexRow&) {},
      [&](const Finding& finding) {
        throw Error(Code::damaged, "the file is damaged: {}", describe(finding))
            .hint(fmt::format("run 'shale verify {}' to list all the damage", printable(path)));
      });
}

ForeignRequest indexing_of(const DatasetRequest& request, const std::string& file,
                           std::optional<Dialect> dialect) {
  return {.file = file,
          .index_folder = {},
          .dialect = dialect,
          .with_checksums = request.with_checksums,
          .generator = request.generator,
          .memory_bytes = request.memory_bytes};
}

OpenedDataset open_file(const DatasetRequest& request, const std::string& file,
                        const Events& events) {
  OpenedDataset dataset;
  dataset.paths = DatasetPaths::of_file(file, request.index_folder);
  std::optional<Dialect> dialect = request.dialect;
  if (is_manifest(dataset.paths.manifest)) {
    read_into(dataset, request.memory_bytes);
    if (const auto change =
            change_since_index(InputFile(file), dataset.manifest, dataset.shards.only(),
                               [&events] { events.stop_if_asked(); }))
      throw stale_index(file, request.index_folder, dataset.manifest, *change);
    const ShardLayout& layout = dataset.manifest.layout;
    if (!dialect) dialect = layout.dialect;
    if (layout.dialect == *dialect && (!request.with_checksums || layout.has_checksums))
      return dataset;
    dataset.shards = {};
  }
  index_for_now(dataset, request, indexing_of(request, file, dialect), events);
  return dataset;
}

std::string full_path(const std::string& folder, const std::string& name) {
  return fs::absolute(join_path(folder, name)).string();
}

// The files of a list as one dataset, a shard each. All must have the fields of the first, in rows
// of one size.
class ListedDataset {
 public:
  explicit ListedDataset(std::string list) : list_(std::move(list)) {}

  // True for a file whose rows can be found as those of a list must be.
  static bool has_fitting_rows(const OpenedDataset& file);
  // Errors: Code::unsupported, by file and field, for one that differs from the first, or has no
  // rows that fit.
  void add(const SetMember& listed, const OpenedDataset& file);
  // Of one file at least.
  [[nodiscard]] OpenedDataset finish() &&;

 private:
  static constexpr std::size_t kMostNotes = 20;

  std::string list_;
  std::string first_name_, fingerprints_;
  Manifest manifest_;
  std::vector<ManifestShard> shards_;
  std::vector<FileFingerprint> states_;
  std::vector<std::string> notes_;
  std::vector<std::shared_ptr<const void>> kept_;
};

bool ListedDataset::has_fitting_rows(const OpenedDataset& file) {
  return file.manifest.layout.rows.has_strides();
}

void ListedDataset::add(const SetMember& listed, const OpenedDataset& file) {
  const Manifest& manifest = file.manifest;
  if (manifest.digest.samples == 0)
    throw Error(Code::unsupported, "has no samples, but is in the list {}", printable(list_))
        .at(listed.path);
  if (!has_fitting_rows(file)) {
    throw Error(Code::unsupported,
                "its samples are not stored as rows of one size, as those of a list must be")
        .at(listed.path)
        .hint(
            "'shale convert' reads the list if the datasets are chunked or compressed; what has "
            "values of different lengths is converted file by file, with --append");
  }
  if (shards_.empty()) {
    manifest_ = manifest;
    manifest_.digest = {};
    manifest_.payload_bytes = 0;
    first_name_ = listed.name;
  } else {
    manifest_.left_out.add(manifest.left_out);
  }
  const std::vector<Field>&ours = manifest_.schema.fields, &theirs = manifest.schema.fields;
  const auto text_at = [](const std::vector<Field>& fields, std::size_t i) {
    return i < fields.size() ? field_text(fields[i]) : "no more fields";
  };
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    if (i < ours.size() && i < theirs.size() && ours[i] == theirs[i]) continue;
    throw Error(Code::unsupported, "has {}, but '{}', the first file of the list, has {}",
                text_at(theirs, i), printable(first_name_), text_at(ours, i))
        .at(listed.path)
        .hint(
            "the files of a list must have the same datasets, types and shapes; convert others "
            "on their own");
  }
  manifest_.layout.has_checksums = manifest_.layout.has_checksums && manifest.layout.has_checksums;
  if (manifest.layout.known_as != manifest_.layout.known_as) manifest_.layout.known_as.clear();
  manifest_.payload_bytes += manifest.payload_bytes;
  fingerprints_ += manifest.source.fingerprint.hex() + "\n";
  ManifestShard shard = file.shards[0];
  shard.name = printable(listed.name);
  for (ManifestFile& one : shard.files) one.name = full_path(file.paths.shards, one.name);
  if (!shard.blocks.name.empty())
    shard.blocks.name = full_path(file.paths.lists, shard.blocks.name);
  shards_.push_back(std::move(shard));
  states_.push_back(manifest.source.file.value_or(FileFingerprint{}));
  for (const std::string& note : file.notes) {
    std::string of_file = fmt::format("{}: {}", printable(listed.name), note);
    if (std::ranges::find(notes_, of_file) == notes_.end() && notes_.size() < kMostNotes)
      notes_.push_back(std::move(of_file));
  }
  if (file.temporary_index) kept_.push_back(file.temporary_index);
}

OpenedDataset ListedDataset::finish() && {
  OpenedDataset set;
  // Not all files were read: then none of them counts as proved.
  for (ManifestShard& shard : shards_) {
    if (!manifest_.layout.has_checksums) {
      shard.blocks = {};
      shard.digest = {.samples = shard.digest.samples, .content = {}, .ordered = {}, .keys = {}};
      for (ManifestFile& file : shard.files) file.hash = {};
    }
    manifest_.digest.append(shard.digest);
  }
  manifest_.shard_count = shards_.size();
  manifest_.source = {
      .kind = std::string(kFileListKind),
      .samples = manifest_.digest.samples,
      .bytes = manifest_.payload_bytes,
      .fingerprint = xxh3_128(as_bytes(fmt::format("{}\n{}", kFileListKind, fingerprints_)))};
  set.paths.manifest = list_;
  set.manifest = manifest_;
  set.notes = std::move(notes_);
  set.file_states = std::move(states_);
  if (!kept_.empty())
    set.temporary_index =
        std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(kept_));
  set.shards = ShardList(std::move(manifest_), std::move(shards_));
  return set;
}

OpenedDataset open_list(const DatasetRequest& request, const std::string& list,
                        const std::vector<SetMember>& files, const Events& events) {
  ListedDataset set(list);
  for (const SetMember& listed : files) {
    events.stop_if_asked();
    try {
      OpenedDataset file = open_file(request, listed.path, events);
      // Rows that lie in chunks are found by an index, of which a list has none: they are unpacked.
      if (request.may_unpack && !ListedDataset::has_fitting_rows(file)) {
        ForeignRequest indexing = indexing_of(request, listed.path, request.dialect);
        indexing.scratch_folder = temporary_folder();
        (void)index_unpacked(file, std::move(indexing), events);
      }
      set.add(listed, file);
    } catch (Error& error) {
      error.hint(fmt::format("the file is in the list {}", printable(list)));
      throw;
    }
  }
  return std::move(set).finish();
}

// What is not a dataset of shale.
OpenedDataset open_other(const DatasetRequest& request, const Events& events) {
  const std::optional<std::string> file = file_of_path(request.path);
  if (!file) throw unrecognized(request.path);
  if (const auto files = files_of_list(*file)) return open_list(request, *file, *files, events);
  OpenedDataset dataset = open_file(request, *file, events);
  if (request.proves_container) prove_container(dataset, *file, events);
  return dataset;
}

}  // namespace

OpenedDataset open_dataset(const DatasetRequest& request, const Events& events) {
  return open_standing(request.path, [&](const DatasetPaths& paths) {
    const Place place = look_at(request.path);
    if (place == Place::absent) throw absent(request.path);
    if (place == Place::unfinished) throw unfinished(request.path);
    if (place != Place::dataset) return open_other(request, events);
    refuse_file_options(request.path, kOwnDataset, request.index_folder, request.dialect);
    OpenedDataset dataset;
    dataset.paths = paths;
    read_into(dataset, request.memory_bytes);
    return dataset;
  });
}

Error for_files_only(std::string_view option, const std::string& path, std::string_view kind) {
  return Error(Code::usage, "{} is for files of other tools, but the input is {}", option, kind)
      .at(path)
      .hint("leave out the option");
}

void refuse_file_options(const std::string& path, std::string_view kind,
                         const std::string& index_folder, std::optional<Dialect> dialect) {
  const std::string_view option = !index_folder.empty() ? "--index-dir" : dialect ? "--parse" : "";
  if (!option.empty()) throw for_files_only(option, path, kind);
}

std::optional<std::uint64_t> row_of_number(std::string_view key, std::uint64_t rows) {
  std::uint64_t row = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), row);
  const bool is_row = error == std::errc() && end == key.data() + key.size() && row < rows &&
                      std::to_string(row) == key;
  return is_row ? std::optional(row) : std::nullopt;
}

}  // namespace shale
