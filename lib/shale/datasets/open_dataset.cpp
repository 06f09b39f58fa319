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
#include "shale/data/field_name.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/datasets/arrays_beside.hpp"
#include "shale/datasets/file_fingerprint.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/hub_folder.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/datasets/joined_files.hpp"
#include "shale/datasets/set_index.hpp"
#include "shale/format/format.hpp"
#include "shale/format/unpack_errors.hpp"
#include "shale/io/machine_limits.hpp"
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
std::optional<UnpackedFile> unpack(OpenedDataset& dataset, const ForeignRequest& indexing,
                                   const DatasetRequest& request,
                                   const std::vector<std::string>& fields, const Events& events) {
  const InputFile input(indexing.file);
  const Format& format = format_of_file(input, indexing.parsing);
  if (format.unpack == nullptr) return std::nullopt;
  UnpackedFile unpacked{std::make_shared<const NamelessFile>(indexing.scratch_folder), {}};
  bool is_announced = false;
  const auto progress = [&](std::uint64_t done, std::uint64_t all) {
    events.of_walk()(done, all);
    if (all == 0 || !request.says_what_is_unpacked || std::exchange(is_announced, true)) return;
    events.say(fmt::format("{}: its samples cannot be located in place; unpacking {} into {}",
                           printable(indexing.file), format_size(all),
                           printable(indexing.scratch_folder)));
  };
  std::optional<UnpackReport> report = format.unpack({.file = input,
                                                      .into = *unpacked.file,
                                                      .memory_bytes = indexing.memory_bytes,
                                                      .parsing = indexing.parsing,
                                                      .progress = progress,
                                                      .fields = fields,
                                                      .axes = request.axes,
                                                      .first_episode = request.first_episode,
                                                      .takes_damaged = request.takes_damaged});
  if (report && report->stays_whole) dataset.notes = std::move(report->notes);
  if (!report || report->stays_whole) return std::nullopt;
  unpacked.report = std::move(*report);
  return unpacked;
}

void take_lost(OpenedDataset& dataset, const std::string& file, LostRanges lost) {
  dataset.lost.clear();
  for (LostRange& range : lost) dataset.lost.push_back({file, std::move(range)});
}

// `file`: that users know it by.
void make_index(OpenedDataset& dataset, const ForeignRequest& indexing, const std::string& file,
                const Events& events) {
  NamelessIndex index = index_without_name(indexing, events);
  index.shard.name = printable(file.substr(file.rfind('/') + 1));
  dataset.paths = std::move(index.paths);
  dataset.shards = ShardList(index.manifest, {std::move(index.shard)});
  dataset.manifest = std::move(index.manifest);
  dataset.notes = std::move(index.notes);
  dataset.temporary_index = std::move(index.files);
  take_lost(dataset, indexing.file, std::move(index.lost));
}

// Numbers of a feature, whose other values may lie in the file all the same.
bool is_without_array(const LeftOut& one) {
  constexpr std::string_view kReasons[] = {"varying_length", "several_integers", "not_packed"};
  return std::ranges::find(kReasons, one.reason) != std::end(kReasons);
}

// Values that stay whole where they are.
bool is_undivided(const LeftOut& one) {
  return one.reason == "feature_lists" || one.reason == "compressed";
}

bool may_unpack(const DatasetRequest& request) { return request.unpacking != Unpacking::never; }

// Whether numbers of features are wanted that do not lie in the file as arrays (docs/manifest.md).
bool gains_by_unpacking(const Manifest& manifest, const DatasetRequest& request) {
  const auto is_there = [&](const std::string& field) {
    return manifest.schema.find(field) || manifest.schema.find(field_name_of(field));
  };
  const auto is_wanted = [&](const LeftOut& one) {
    return std::ranges::any_of(request.fields, [&](const std::string& field) {
      return field_name_of(field) == field_name_of(one.name);
    });
  };
  const bool has_all_that_is_wanted =
      !request.fields.empty() && std::ranges::all_of(request.fields, is_there);
  if (request.unpacking != Unpacking::fully) return false;
  return std::ranges::any_of(manifest.left_out.entries, [&](const LeftOut& one) {
    // Its rows are missing, though the field is there.
    if (one.reason == "never_written" && (request.fields.empty() || is_wanted(one))) return true;
    if (has_all_that_is_wanted) return false;
    return is_without_array(one) || is_undivided(one) || one.reason == "list_of_numbers";
  });
}

// Nothing is left out where values stay whole that could not be divided.
void forget_undivided(LeftOutList& left_out) { std::erase_if(left_out.entries, is_undivided); }

// What is known of an indexed file from unpacking it, which lives as long as its index.
void take_unpacked(OpenedDataset& dataset, const std::string& file, UnpackedFile&& unpacked) {
  dataset.is_unpacked = true;
  dataset.episodes = unpacked.report.episodes;
  if (!unpacked.report.is_decompressed) {
    dataset.notes = std::move(unpacked.report.notes);
    dataset.manifest.left_out = std::move(unpacked.report.left_out);
    dataset.manifest.classes = std::move(unpacked.report.classes);
  }
  add_hub_classes(dataset.manifest, file);
  take_lost(dataset, file, std::move(unpacked.report.lost));
  using Kept = std::vector<std::shared_ptr<const void>>;
  dataset.temporary_index =
      std::make_shared<const Kept>(Kept{dataset.temporary_index, std::move(unpacked.file)});
}

// False, and nothing done: that is of no help.
bool index_unpacked(OpenedDataset& dataset, const DatasetRequest& request, ForeignRequest indexing,
                    const std::vector<std::string>& fields, const Events& events) {
  std::optional<UnpackedFile> unpacked = unpack(dataset, indexing, request, fields, events);
  if (!unpacked) return false;
  const std::string file = std::exchange(indexing.file, unpacked->file->link());
  indexing.takes_damaged = false;
  const Format& format = format_of_file(InputFile(file), indexing.parsing);
  if (InputFile(indexing.file).size() == 0) indexing.format = &format;
  // Whatever the file was; of a map of keys the values are others.
  const bool is_map = format.open_map != nullptr;
  const bool stays_samples = indexing.parsing.dialect == Dialect::webdataset;
  if (indexing.parsing.is_given() && !is_map && !stays_samples) indexing.parsing = Dialect::plain;
  if (unpacked->report.is_own) indexing.parsing = {};
  // Those that are joined keep their names.
  if (indexing.parsing.database.find(',') == std::string::npos) indexing.parsing.database.clear();
  const std::optional<Schema> schema = std::move(unpacked->report.schema);
  if (schema && indexing.schema == nullptr) indexing.schema = &*schema;
  make_index(dataset, indexing, file, events);
  take_unpacked(dataset, file, *std::move(unpacked));
  return true;
}

// The same; where the file as a whole is refused, for the chosen fields alone.
bool index_unpacked(OpenedDataset& dataset, const DatasetRequest& request,
                    const ForeignRequest& indexing, const Events& events) {
  // Only what is lost of the chosen fields counts.
  const bool is_saved = request.takes_damaged && !request.fields.empty();
  if (is_saved && index_unpacked(dataset, request, indexing, request.fields, events)) return true;
  try {
    if (index_unpacked(dataset, request, indexing, {}, events)) return true;
  } catch (const Error& error) {
    if (request.fields.empty() || error.code() != Code::unsupported) throw;
    if (!index_unpacked(dataset, request, indexing, request.fields, events)) throw;
    return true;
  }
  return !request.fields.empty() &&
         index_unpacked(dataset, request, indexing, request.fields, events);
}

// Where all but some numbers lies in the file, these alone are unpacked. False, and nothing done:
// more has to be. Not of a file of a set, whose shards have as many files each.
bool unpack_arrays(OpenedDataset& dataset, const DatasetRequest& request, ForeignRequest indexing,
                   const Events& events) {
  const Manifest& manifest = dataset.manifest;
  const bool stays = manifest.layout.has_whole_records && !manifest.layout.has_values &&
                     manifest.layout.dialect == Dialect::plain;
  std::vector<std::string> fields;
  for (const LeftOut& one : manifest.left_out.entries) {
    if (is_without_array(one)) fields.push_back(field_name_of(one.name));
  }
  if (!stays || fields.empty() || request.with_checksums) return false;
  std::optional<UnpackedFile> unpacked = unpack(dataset, indexing, request, fields, events);
  if (!unpacked) return false;
  const std::string file = std::exchange(indexing.file, unpacked->file->link());
  indexing.parsing = Dialect::plain;
  indexing.takes_damaged = false;
  indexing.schema = &*unpacked->report.schema;
  add_arrays(dataset, index_without_name(indexing, events), indexing.scratch_folder, events);
  take_unpacked(dataset, file, *std::move(unpacked));
  return true;
}

// A file whose samples lie along other axes than the first is unpacked, whatever it is.
void turn_file(OpenedDataset& dataset, const DatasetRequest& request,
               const ForeignRequest& indexing, const Events& events) {
  if (format_of_file(InputFile(indexing.file), indexing.parsing).list_contents == nullptr) {
    throw Error(Code::usage, "--axis is for arrays, but the input is {}",
                format_of_file(InputFile(indexing.file), indexing.parsing).a_file)
        .at(indexing.file)
        .hint("leave out --axis");
  }
  if (index_unpacked(dataset, request, indexing, events)) return;
  throw Error(Code::unsupported, "holds no table that could be turned")
      .at(indexing.file)
      .hint("leave out --axis");
}

// Makes an index for the time being where the one of a file is missing, or is not what is wanted.
// `stands_alone`: it is not of a set.
void index_for_now(OpenedDataset& dataset, const DatasetRequest& request, ForeignRequest indexing,
                   bool stands_alone, const Events& events) {
  try {
    (void)NamelessFile(temporary_folder());
    indexing.scratch_folder = temporary_folder();
  } catch (const Error&) {
    const bool fits = InputFile(indexing.file).size() <= request.memory_bytes / 4;
    if (!fits || request.with_checksums) throw;
    try {
      return make_index(dataset, indexing, indexing.file, events);
    } catch (const Error& refusal) {
      if (!may_unpack(request) || refusal.code() != Code::unsupported) throw;
    }
    throw;  // for want of the folder to unpack into
  }
  if (!request.axes.empty()) return turn_file(dataset, request, indexing, events);
  try {
    make_index(dataset, indexing, indexing.file, events);
    if (!gains_by_unpacking(dataset.manifest, request)) {
      // All that is asked for is there: values that are taken whole are not left out.
      if (request.unpacking == Unpacking::fully) forget_undivided(dataset.manifest.left_out);
      return;
    }
    if (stands_alone && unpack_arrays(dataset, request, indexing, events)) return;
    if (!index_unpacked(dataset, request, indexing, {}, events))
      forget_undivided(dataset.manifest.left_out);
  } catch (const Error& error) {
    const bool is_damaged = error.code() == Code::damaged && request.takes_damaged;
    if (!may_unpack(request) || (error.code() != Code::unsupported && !is_damaged)) throw;
    if (!index_unpacked(dataset, request, indexing, events)) throw;
  }
}

// A file that was unpacked was proved then, and one that may be damaged when it was indexed.
void prove_container(const OpenedDataset& dataset, bool takes_damaged, std::uint64_t memory_bytes,
                     const Events& events) {
  const Manifest& manifest = dataset.manifest;
  const Format& format = format_of(manifest);
  if (!format.can.self_checksummed || manifest.layout.has_checksums || dataset.is_unpacked) return;
  if (takes_damaged && format.salvage != nullptr && dataset.temporary_index) return;
  for (const ManifestShard& shard : dataset.shards) {
    std::vector<InputFile> files;
    files.emplace_back(join_path(dataset.paths.shards, shard.files[0].name));
    format.scan(
        {.files = files,
         .schema = manifest.schema,
         .layout = manifest.layout,
         .reads_payload = true,
         .progress = events.of_walk(),
         .put_value = [](Bytes) { return std::uint64_t{0}; },
         .memory_bytes = memory_bytes},
        OptionSet(format.options), [](const IndexRow&) {},
        [&](const Finding& finding) { throw is_damaged(files[0].path(), finding); });
  }
}

ForeignRequest indexing_of(const DatasetRequest& request, const std::string& file,
                           const Parsing& parsing) {
  return {.file = file,
          .index_folder = {},
          .parsing = parsing,
          .with_checksums = request.with_checksums,
          .generator = request.generator,
          .memory_bytes = request.memory_bytes,
          .takes_damaged = request.takes_damaged};
}

// What the index proves of a file that is not as it was, but not longer, is taken, if that is
// asked for.
void take_damaged(OpenedDataset& dataset, const DatasetRequest& request, const std::string& file,
                  const std::string& change) {
  Manifest& manifest = dataset.manifest;
  const std::optional<ManifestShard> then = dataset.shards.only();
  const bool may_be_damaged = request.takes_damaged && manifest.layout.has_checksums && then &&
                              then->files.size() == 1 &&
                              InputFile(file).size() <= then->files[0].bytes;
  if (!may_be_damaged) throw stale_index(file, request.index_folder, manifest, change);
  dataset.notes.push_back(
      fmt::format("{} has changed since it was indexed: {}; samples that are not as they were are "
                  "left out",
                  printable(file), change));
  manifest.source.file = fingerprint_of(InputFile(file));
}

// `as`: as the set that the file belongs to has it; null: as the request has it.
OpenedDataset open_file(const DatasetRequest& request, const std::string& file, const IndexedAs* as,
                        bool stands_alone, const Events& events) {
  OpenedDataset dataset;
  dataset.paths = paths_of_index(file, request.index_folder);
  // It may have come to its name since.
  if (!is_manifest(dataset.paths.manifest))
    dataset.paths = paths_of_index(file, request.index_folder);
  Parsing parsing = request.parsing;
  bool is_stale = false;  // it proves nothing, so what is whole is found without it
  if (is_manifest(dataset.paths.manifest)) {
    read_into(dataset, request.memory_bytes);
    if (const auto change =
            change_of_indexed(InputFile(file), dataset.manifest, dataset.shards.only(),
                              [&events] { events.stop_if_asked(); })) {
      is_stale = request.takes_damaged && !dataset.manifest.layout.has_checksums;
      if (!is_stale) take_damaged(dataset, request, file, *change);
    }
    const ShardLayout& layout = dataset.manifest.layout;
    if (!parsing.is_given()) parsing = parsing_of(layout);
    if (!is_stale && is_parsed_so(layout, parsing) &&
        (!request.with_checksums || layout.has_checksums) &&
        !gains_by_unpacking(dataset.manifest, request) && request.axes.empty() &&
        (as == nullptr || (layout.rows.has_index() && columns_of_index(dataset.manifest) == *as)))
      return dataset;
    dataset.shards = {};
  }
  ForeignRequest indexing = indexing_of(request, file, parsing);
  if (as != nullptr) ask_for(indexing, *as);
  index_for_now(dataset, request, std::move(indexing), stands_alone, events);
  return dataset;
}

// How a file of a set is opened again, by the schema of all.
struct OpenedAgain {
  const IndexedAs& as;
  std::vector<std::string> arrays;  // fields of single integers there, and of lists in other files
  bool is_unpacked = false;         // it was the first time
};

// What lay in the unpacked file alone, or is to be arrays there, does not lie so in the file
// itself.
OpenedDataset unpack_again(const DatasetRequest& request, const SetMember& member,
                           const OpenedAgain& again, const Events& events) {
  ForeignRequest indexing = indexing_of(request, member.path, request.parsing);
  indexing.scratch_folder = temporary_folder();
  indexing.schema = &again.as.schema;
  indexing.drops_keys = !again.as.schema.has_keys;
  indexing.with_checksums = again.as.has_checksums;
  // Of a file without keys that say where fields are: names of the fields that are to be arrays.
  for (const std::string& field : again.arrays)
    indexing.parsing.keys += (indexing.parsing.keys.empty() ? "" : "\n") + field;
  OpenedDataset file;
  if (!index_unpacked(file, request, indexing, events))
    throw Error(Code::bug, "it is not unpacked by the schema of the set").at(member.path);
  return file;
}

// A file of a set. Fixed rows that are not found without an index are unpacked: a set has none for
// them. `again`: null the first time.
OpenedDataset open_member(const DatasetRequest& request, const SetMember& member,
                          const OpenedAgain* again, const Events& events) {
  if (again != nullptr && (again->is_unpacked || !again->arrays.empty()))
    return unpack_again(request, member, *again, events);
  if (request.takes_only_fields) {
    OpenedDataset chosen;
    ForeignRequest indexing = indexing_of(request, member.path, request.parsing);
    indexing.scratch_folder = temporary_folder();
    if (index_unpacked(chosen, request, indexing, request.fields, events)) return chosen;
  }
  OpenedDataset file =
      open_file(request, member.path, again == nullptr ? nullptr : &again->as, false, events);
  if (may_unpack(request) && !JoinedFiles::has_fitting_rows(file)) {
    ForeignRequest indexing = indexing_of(request, member.path, request.parsing);
    indexing.scratch_folder = temporary_folder();
    (void)index_unpacked(file, request, indexing, events);
  }
  if (JoinedFiles::has_fitting_rows(file)) return file;
  throw Error(Code::unsupported,
              "its samples are not stored as rows of one size, as those of a list must be")
      .at(member.path)
      .hint(
          "'shale convert' reads the list if the datasets are chunked or compressed; what has "
          "values of different lengths is converted file by file, with --append");
}

OpenedDataset open_members(const DatasetRequest& request, const std::string& place,
                           const std::vector<SetMember>& files, const Events& events) {
  if (std::optional<OpenedDataset> indexed = open_set_index(request, files, events);
      indexed && !gains_by_unpacking(indexed->manifest, request)) {
    if (request.proves_container) prove_container(*indexed, false, request.memory_bytes, events);
    return *std::move(indexed);
  }
  JoinedFiles set(place, request.fields);
  DatasetRequest of_member = request;
  const auto open = [&](const SetMember& member, const OpenedAgain* again, const auto& take) {
    events.stop_if_asked();
    try {
      const OpenedDataset file = open_member(of_member, member, again, events);
      if (request.proves_container && again == nullptr)
        prove_container(file, request.takes_damaged, request.memory_bytes, events);
      take(file);
    } catch (Error& error) {
      if (request.takes_damaged && error.code() == Code::damaged && again == nullptr)
        return set.lose(member, error);
      error.hint(fmt::format("the file is in the set {}", printable(place)));
      throw;
    }
  };
  constexpr std::uint64_t kOtherFiles = 256;
  allow_open_files(2 * files.size() + kOtherFiles);  // a temporary index of each, or two
  std::vector<SetMember> taken;
  std::vector<bool> are_unpacked;
  std::vector<std::uint64_t> first_episodes;
  for (const SetMember& member : files) {
    open(member, nullptr, [&](const OpenedDataset& file) {
      const std::uint64_t first_episode = of_member.first_episode;
      of_member.first_episode += file.episodes;
      if (!set.add(member, file)) return;
      taken.push_back(member);
      are_unpacked.push_back(file.is_unpacked);
      first_episodes.push_back(first_episode);
      of_member.says_what_is_unpacked = of_member.says_what_is_unpacked && !file.is_unpacked;
    });
  }
  if (taken.empty()) throw set.no_samples(files.size());
  const IndexedAs as = set.indexed_as();
  for (const std::size_t number : set.misfits()) {
    const SetMember& member = taken[number];
    of_member.first_episode = first_episodes[number];
    of_member.says_what_is_unpacked = false;
    const OpenedAgain again{as, set.arrays_of(number), are_unpacked[number]};
    open(member, &again, [&](const OpenedDataset& file) { set.replace(number, member, file); });
  }
  OpenedDataset opened = std::move(set).finish();
  opened.is_unpacked = std::ranges::find(are_unpacked, true) != are_unpacked.end();
  return opened;
}

// Where the files differ in what nobody asked for, the chosen fields alone are read.
OpenedDataset open_set(const DatasetRequest& request, const std::string& place,
                       const std::vector<SetMember>& files, const Events& events) {
  try {
    return open_members(request, place, files, events);
  } catch (const Error& error) {
    const bool may_help = may_unpack(request) && !request.fields.empty();
    if (!may_help || error.code() != Code::unsupported) throw;
  }
  DatasetRequest chosen = request;
  chosen.takes_only_fields = true;
  return open_members(chosen, place, files, events);
}

OpenedDataset open_whole_set(const DatasetRequest& request, const std::string& place,
                             const std::vector<SetMember>& files, const Events& events) {
  OpenedDataset set = open_set(request, place, files, events);
  if (std::string note = note_on_missing_files(files); !note.empty())
    set.notes.insert(set.notes.begin(), std::move(note));
  return set;
}

// What is not a dataset of shale.
OpenedDataset open_other(const DatasetRequest& request, const Events& events) {
  if (!request.files.empty())
    return open_whole_set(request, fmt::format("of {} files", request.files.size()), request.files,
                          events);
  if (std::optional<OpenedDataset> set = open_large_set(request);
      set && !gains_by_unpacking(set->manifest, request))
    return *std::move(set);
  if (const auto files = files_of_set(request.path))
    return open_whole_set(request, request.path, *files, events);
  const std::optional<std::string> file = file_of_path(request.path);
  if (!file) throw unrecognized(request.path);
  OpenedDataset dataset = open_file(request, *file, nullptr, true, events);
  if (request.proves_container)
    prove_container(dataset, request.takes_damaged, request.memory_bytes, events);
  return dataset;
}

}  // namespace

OpenedDataset open_dataset(const DatasetRequest& request, const Events& events) {
  if (request.open_instead) return request.open_instead(events);
  return open_standing(request.path, [&](const DatasetPaths& paths) {
    const Place place = request.files.empty() ? look_at(request.path) : Place::other_file;
    if (place == Place::absent && !holds_set(request.path)) throw absent(request.path);
    if (place == Place::unfinished) throw unfinished(request.path);
    if (place != Place::dataset) return open_other(request, events);
    refuse_file_options(request.path, kOwnDataset, request.index_folder, request.parsing);
    if (!request.axes.empty()) throw for_files_only("--axis", request.path, kOwnDataset);
    OpenedDataset dataset;
    dataset.paths = paths;
    read_into(dataset, request.memory_bytes);
    refuse_set_index(dataset.manifest, request.path);
    return dataset;
  });
}

Error for_files_only(std::string_view option, const std::string& path, std::string_view kind) {
  const bool may_be_of_samples = option == "--parse" && path.ends_with(".tar");
  return Error(Code::usage, "{} is for files of other tools, but the input is {}", option, kind)
      .at(path)
      .hint(may_be_of_samples
                ? "leave out the option; or pass --parse webdataset, which reads any tar archive "
                  "as one of samples"
                : "leave out the option");
}

void refuse_file_options(const std::string& path, std::string_view kind,
                         const std::string& index_folder, const Parsing& parsing) {
  const std::string_view option = !index_folder.empty()       ? "--index-dir"
                                  : parsing.dialect           ? "--parse"
                                  : !parsing.database.empty() ? "--database"
                                                              : "";
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
