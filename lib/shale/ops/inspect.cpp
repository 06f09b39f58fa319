#include "shale/ops/inspect.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/field_name.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/format/file_contents.hpp"
#include "shale/format/format.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/loading/block_proof.hpp"
#include "shale/ops/list_arrays.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/joined_source.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRowsBetweenStops = 4096;

// What stays unread of a sample is read once before any of it is used: then it is as it was
// written.
void prove_unread(const Sample& sample) {
  const auto read = [](const Unread& bytes) { bytes->for_each_piece([](Bytes) {}); };
  for (const Value& value : sample.values) {
    if (const Unread* run = std::get_if<Unread>(&value)) read(*run);
    if (const auto* list = std::get_if<std::vector<Unread>>(&value))
      std::ranges::for_each(*list, read);
  }
}

FoundSample load(const OpenedDataset& dataset, const std::shared_ptr<const ShardReader>& reader,
                 const IndexRow& place, std::uint64_t row, std::uint64_t shard_row,
                 std::uint64_t memory_bytes, const Events& events) {
  const ShardReader& shard = *reader;
  FoundSample found;
  LoadedSample loaded = load_sample(
      shard, place, dataset.manifest.schema, format_of(dataset.manifest),
      {.bytes = memory_bytes, .step = [events] { events.stop_if_asked(); }, .keeps_open = reader});
  prove_unread(loaded.sample);
  found.row = row;
  found.shard = shard.shard().name;
  found.shard_row = shard_row;
  found.place = place;
  found.sample = std::move(loaded.sample);
  found.bytes = std::move(loaded.bytes);
  found.schema = dataset.manifest.schema;
  found.classes = dataset.manifest.classes;
  found.label = label_of(dataset.manifest);
  found.has_crc32c = shard.has_checksums();
  if (!dataset.manifest.layout.has_keys) found.sample.key = std::to_string(row);
  events.stop_if_asked();  // nothing is written of it then
  return found;
}

// Its values have no checksums of their own: the blocks that they lie in are proved.
void prove_fixed_row(const OpenedDataset& dataset, const ShardReader& shard, std::uint64_t row) {
  const ShardLayout& layout = dataset.manifest.layout;
  const BlockHashes blocks(dataset.paths, shard.shard());
  BatchReader reader({.depth = 1, .threads = 1});
  AlignedBuffer arena;
  std::vector<std::byte> value(kBlockBytes);
  for (std::size_t i = 0; i < dataset.manifest.schema.fields.size(); ++i) {
    const FixedColumn column = shard.fixed_column(i);
    const FieldPlace place = column.place(row);
    for (std::uint64_t done = 0; done < place.length;) {
      const std::uint64_t offset = place.offset + done;
      const std::uint64_t count = std::min(place.length - done, kBlockBytes - offset % kBlockBytes);
      const Extent extent{column.file, offset, std::span(value).first(count),
                          blocks.of_file(layout.part_file[layout.field_part[i]])};
      read_proved({&extent, 1}, reader, arena);
      done += count;
    }
  }
}

FoundSample load_row(const OpenedDataset& dataset, const DatasetRequest& request, std::uint64_t row,
                     const Events& events) {
  const std::uint64_t rows = dataset.manifest.digest.samples;
  if (row >= rows) {
    throw Error(Code::not_found, "no row {}: the dataset has {}", row,
                format_counted(rows, "row", "rows"))
        .at(request.path)
        .hint("row numbers start at 0");
  }
  const std::uint64_t number = dataset.shards.holding(row);
  const std::uint64_t shard_row = row - dataset.shards.first_row(number);
  const auto reader =
      std::make_shared<const ShardReader>(dataset.paths, dataset.manifest, dataset.shards[number]);
  const ShardReader& shard = *reader;
  shard.prove_index([&](auto) { events.stop_if_asked(); });
  const ShardLayout& layout = dataset.manifest.layout;
  if (layout.has_checksums && !layout.rows.has_value_checksums())
    prove_fixed_row(dataset, shard, shard_row);
  const IndexRow place = shard.open_index().row(shard_row);
  return load(dataset, reader, place, row, shard_row, request.memory_bytes, events);
}

FoundSample load_number(const OpenedDataset& dataset, const DatasetRequest& request,
                        const std::string& key, const Events& events) {
  const std::uint64_t rows = dataset.manifest.digest.samples;
  if (const std::optional<std::uint64_t> row = row_of_number(key, rows))
    return load_row(dataset, request, *row, events);
  throw Error(Code::not_found, "no sample has key '{}': keys are the numbers of the {} rows",
              printable(key), format_count(rows))
      .at(request.path)
      .hint("row numbers start at 0, without leading zeros");
}

// As verify --quick would: whether they are there, and how large.
void look_at_files(const OpenedDataset& dataset, DatasetInfo& info, const Events& events) {
  constexpr std::size_t kMostKept = 1000;
  std::uint64_t files = dataset.manifest.files.size();
  const auto look_at_one = [&](const std::string& folder, const ManifestFile& file) {
    const std::optional<struct stat> facts = facts_behind(join_path(folder, file.name));
    const bool is_there = facts && S_ISREG(facts->st_mode);
    if (is_there && static_cast<std::uint64_t>(facts->st_size) == file.bytes) return;
    ++info.bad_file_count;
    if (info.bad_files.size() < kMostKept) info.bad_files.push_back(file);
  };
  constexpr std::uint64_t kListsOfShard = 2;  // at least
  files += dataset.shards.size() * (dataset.manifest.layout.file_suffixes.size() + kListsOfShard);
  if (files > kMostSizedFiles) {
    info.knows_files = false;
    return;
  }
  for (const ManifestFile& file : dataset.manifest.files) look_at_one(dataset.paths.lists, file);
  for (const ManifestShard& shard : dataset.shards) {
    events.stop_if_asked();
    for (const ManifestFile& file : shard.files) look_at_one(dataset.paths.shards, file);
    for (const ManifestFile* file : shard.lists()) look_at_one(dataset.paths.lists, *file);
  }
}

void add_arrays(DatasetInfo& info, const DatasetRequest& request, const Events& events,
                std::string_view output) {
  try {
    info.contents = list_arrays(request.path, events);
  } catch (const Error& error) {
    if (error.code() != Code::unsupported) throw;
  }
  if (info.contents) info.commands = convert_commands(*info.contents, request.path, output, false);
}

// Of a table that is not read in place, or of the first file of a set of them.
void add_columns(DatasetInfo& info, const DatasetRequest& request, const Events& events,
                 std::string_view output) {
  std::vector<SetMember> files = request.files;
  if (const std::optional<std::string> file = file_of_path(request.path)) {
    files = {{*file, *file}};
  } else if (files.empty()) {
    files = files_of_set(request.path).value_or(files);
  }
  if (files.empty()) return;
  const InputFile first(files.front().path);
  const Format* const format = detect_file(first);
  if (format == nullptr) return;
  // Commands for arrays do not know --parse.
  if (format->list_columns == nullptr && request.parsing.is_given()) return;
  info.contents = format->list_columns != nullptr ? format->list_columns(first)
                                                  : list_arrays(files.front().path, events);
  if (!info.contents) return;
  if (files.size() > 1) {
    info.contents->attributes.insert(
        info.contents->attributes.begin(),
        {"files", fmt::format("{}, of which this is the first: {}", format_count(files.size()),
                              files.front().path)});
  }
  info.contents->format = format->name;
  info.commands = convert_commands(*info.contents, request.path, output, files.size() > 1);
}

// Where the fields have the names of TensorFlow's image sets. What is left out in place may be a
// field of what convert makes.
std::string note_on_names(const Manifest& manifest, const std::string& path) {
  std::string shown;
  const auto add = [&](std::string_view name) {
    const std::string_view standard = standard_name_of(name);
    if (standard.empty() || manifest.schema.find(standard)) return;
    shown += fmt::format("{}{}", shown.empty() ? "" : ", ", standard);
  };
  if (!manifest.schema.find("image_encoded")) return {};
  for (const Field& field : manifest.schema.fields) add(field.name);
  for (const LeftOut& one : manifest.left_out.entries) {
    const std::string name = field_name_of(one.name);
    if (one.reason != "no_value" && !manifest.schema.find(name)) add(name);
  }
  if (shown.empty()) return {};
  return fmt::format(
      "under their standard names ({}): shale convert {} out --to record --rename {}", shown,
      shell_word(path), kStandardNames);
}

// How the fields of an indexed file, or of the first one of a set, are called there. A file that
// cannot be read is for others to name.
std::string note_on_origins(const OpenedDataset& opened) try {
  const auto tell_names = format_of(opened.manifest).tell_names;
  if (tell_names == nullptr || opened.shards.size() == 0) return {};
  return tell_names(InputFile(join_path(opened.paths.shards, opened.shards[0].files[0].name)),
                    opened.manifest.schema);
} catch (const Error&) {
  return {};
}

DatasetInfo inspect_now(const DatasetRequest& request, const Events& events,
                        std::string_view output) {
  DatasetInfo info;
  if (look_at(request.path) == Place::unfinished) return info;
  std::optional<OpenedDataset> found;
  try {
    DatasetRequest opening = request;
    opening.trusts_sizes = opening.trusts_names = true;  // nothing is read of the files
    opening.unpacking = Unpacking::never;
    found = open_dataset(opening, events);
  } catch (const Error& error) {
    if (error.code() != Code::unsupported && error.code() != Code::limit) throw;
    if (error.code() == Code::unsupported) add_arrays(info, request, events, output);
    // What convert refuses, too, is no more than an error.
    const bool is_converted =
        error.code() == Code::limit || error.hint().find("shale convert") != std::string::npos;
    if (!info.contents && is_converted) add_columns(info, request, events, output);
    if (!info.contents) throw;
    info.obstacle = error;
    return info;
  }
  const OpenedDataset& opened = *found;
  info.is_complete = true;
  info.is_indexed = opened.temporary_index == nullptr;
  info.manifest = opened.manifest;
  info.notes = opened.notes;
  const ShardLineBytes bytes = opened.bytes ? *opened.bytes : opened.shards.bytes();
  info.file_bytes = bytes.data + bytes.lists;
  info.largest_file = bytes.largest;
  if (!opened.manifest.layout.is_of_one_file()) {
    look_at_files(opened, info, events);
    if (std::optional<std::string> note = note_of_unfinished_run(request.path))
      info.notes.push_back(std::move(*note));
  } else {
    add_arrays(info, request, events, output);
    if (std::string note = info.is_indexed ? note_on_origins(opened) : ""; !note.empty())
      info.notes.push_back(std::move(note));
    if (std::string note = note_on_names(info.manifest, request.path); !note.empty())
      info.notes.push_back(std::move(note));
    const LeftOutList& left_out = info.manifest.left_out;
    if (std::ranges::find(left_out.entries, "steps/is_first", &LeftOut::name) !=
        left_out.entries.end())
      info.notes.push_back(
          fmt::format("each step as a sample: shale convert {} out --to record --parse episodes",
                      shell_word(request.path)));
  }
  events.stop_if_asked();
  return info;
}

std::optional<FoundSample> sample_with(const std::string& key, const OpenedDataset& dataset,
                                       const DatasetRequest& request, const Events& events) {
  const std::uint64_t hash = xxh3_64(as_bytes(key));
  std::uint64_t first = 0;
  for (const ManifestShard& entry : dataset.shards) {
    const auto reader = std::make_shared<const ShardReader>(dataset.paths, dataset.manifest, entry);
    const ShardReader& shard = *reader;
    shard.prove_index([&](auto) { events.stop_if_asked(); });
    IndexReader index = shard.open_index();
    for (std::uint64_t row = 0; row < entry.digest.samples; ++row) {
      if (row % kRowsBetweenStops == 0) events.stop_if_asked();
      const IndexRow place = index.row(row);
      if (place.key_hash != hash || place.key.length != key.size()) continue;
      std::string stored(key.size(), '\0');
      shard.file_of_key().read_exact(place.key.offset, std::as_writable_bytes(std::span(stored)));
      if (stored == key)
        return load(dataset, reader, place, first + row, row, request.memory_bytes, events);
      if (shard.has_checksums()) prove_value(as_bytes(stored), place.key, shard.file_of_key());
    }
    first += entry.digest.samples;
  }
  return std::nullopt;
}

// A key as its bytes are, or as `ls` prints it.
FoundSample find_key_now(const DatasetRequest& request, const std::string& key,
                         const Events& events) {
  const OpenedDataset dataset = open_dataset(request, events);
  if (!dataset.manifest.layout.has_keys) return load_number(dataset, request, key, events);
  std::optional<FoundSample> found = sample_with(key, dataset, request, events);
  const std::string printed = unescaped(key).value_or(key);
  if (printed != key) {
    std::optional<FoundSample> other = sample_with(printed, dataset, request, events);
    if (found && other) {
      throw Error(Code::bad_content, "'{}' is the key of a sample, and another one is printed so",
                  printable(key))
          .at(request.path)
          .hint("name the row instead; 'shale ls' lists both");
    }
    if (!found) found = std::move(other);
  }
  if (found) return std::move(*found);
  throw Error(Code::not_found, "no sample has key '{}'", printable(key))
      .at(request.path)
      .hint(fmt::format("'shale ls {} --tsv' lists the keys", printable(request.path)));
}

}  // namespace

bool DatasetInfo::is_join() const { return !is_indexed && manifest.source.kind == kJoined; }

DatasetInfo inspect(const DatasetRequest& request, const Events& events, std::string_view output) {
  while (true) {
    const StandingState standing(request.path);
    try {
      DatasetInfo info = inspect_now(request, events, output);
      if (info.bad_file_count == 0 || !standing.is_replaced()) return info;
    } catch (const Error& error) {
      if (error.code() == Code::interrupted || !standing.is_replaced()) throw;
    }
  }
}

FoundSample find_row(const DatasetRequest& request, std::uint64_t row, const Events& events) {
  return open_standing(request.path, [&](const DatasetPaths&) {
    return load_row(open_dataset(request, events), request, row, events);
  });
}

FoundSample find_key(const DatasetRequest& request, const std::string& key, const Events& events) {
  return open_standing(request.path,
                       [&](const DatasetPaths&) { return find_key_now(request, key, events); });
}

}  // namespace shale
