#include "shale/loading/loader.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <unistd.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/datasets/index_set.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/datasets/set_index.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/loading/extent_reading.hpp"
#include "shale/loading/fixed_loading.hpp"
#include "shale/loading/loader_state.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostKeptKeys = 4 << 20, kKeysAtOnce = 1 << 16;

void check_place(const FieldPlace& place, const InputFile& file, const ShardReader& reader,
                 std::uint64_t shard_row) {
  if (place.offset == kMissing) return;
  if (place.length <= file.size() && place.offset <= file.size() - place.length) return;
  throw Error(Code::damaged, "row {} of the index places {} bytes at {} of {}, but that has {}",
              shard_row, place.length, place.offset, printable(file.path()), file.size())
      .at(reader.index_path())
      .hint("run 'shale verify' to find out which of the two is damaged");
}

const FieldPlace& place_of(const LocatedSample& sample, std::optional<std::size_t> field) {
  return field ? sample.place.cells[*field].place : sample.place.key;
}

// One fetch with the shard it is read from.
struct Task {
  const Fetch* fetch;
  const InputFile* file;
  const OpenShard* shard;
};

void check_places(const LocatedSample& sample, const ShardReader& reader,
                  const Manifest& manifest) {
  const bool has_keys = manifest.layout.has_keys;
  try {
    if (has_keys) check_place(sample.place.key, reader.file_of_key(), reader, sample.shard_row);
    for (std::size_t i = 0; i < manifest.schema.fields.size(); ++i) {
      if (!is_located(manifest.schema.fields[i].kind)) continue;
      check_place(sample.place.cells[i].place, reader.file_of_field(i), reader, sample.shard_row);
    }
  } catch (Error& error) {
    error.for_sample({}, sample.row);
    throw;
  }
}

// What the page cache held may be wrong where the disk is right: one more look, past it.
void prove_checksum(const Task& task) {
  const std::uint32_t expected = task.fetch->place().crc32c;
  if (crc32c(task.fetch->into) == expected) return;
  const std::uint64_t offset = task.fetch->place().offset;
  read_past_cache({task.file, offset, task.fetch->into});
  const std::uint32_t found = crc32c(task.fetch->into);
  if (found == expected) return;
  throw checksum_mismatch(task.fetch->into.size(), found, expected)
      .error()
      .at(task.file->path(), offset)
      .hint("run 'shale verify' to list all the damage");
}

bool holds(const Task& task, std::optional<std::uint64_t> offset) {
  const FieldPlace& place = task.fetch->place();
  return offset && *offset >= place.offset && *offset - place.offset < place.length;
}

void read_tasks(std::span<const Task> tasks, LoaderState& state) {
  std::vector<Extent> extents;
  extents.reserve(tasks.size());
  bool is_direct = true;
  for (const Task& task : tasks) {
    const std::uint64_t offset = task.fetch->place().offset;
    extents.push_back(task.shard->extent(*task.file, offset, task.fetch->into));
    is_direct = is_direct && task.shard->is_direct;
  }
  state.read(extents, is_direct);
}

std::string index_hint(const LoaderRequest& request, const Parsing& parsing) {
  return fmt::format("run '{}' to add them",
                     index_command(request.path, request.index_folder, parsing, true));
}

// All elements of a list whose bytes were read, as places in the file.
std::vector<FieldPlace> walked(const Format& format, const FieldPlace& list, Bytes extent) {
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return extent.subspan(offset - list.offset, length);
  };
  std::vector<FieldPlace> elements = format.walk_list(view, list);
  for (FieldPlace& element : elements)
    element.crc32c = crc32c(view(element.offset, element.length));
  return elements;
}

bool is_inside(const FieldPlace& element, const FieldPlace& list) {
  return element.offset >= list.offset && element.length <= list.length &&
         element.offset - list.offset <= list.length - element.length;
}

}  // namespace

Loader::Loader(const LoaderRequest& request, const Events& events)
    : proof_(request.proof), cache_(request.cache) {
  open_standing(request.path, [&](const DatasetPaths& paths) {
    paths_ = paths;
    open(request, events);
  });
  if (proof_ == Proof::all && !manifest().layout.has_checksums) {
    throw no_checksums(paths_.manifest).hint(index_hint(request, parsing_of(manifest().layout)));
  }
}

Loader::~Loader() {
  std::unique_ptr<LoaderState> state(state_.exchange(nullptr));
  if (state != nullptr && state->process() != ::getpid()) state.release()->abandon();
  const std::unique_ptr<const KeyTable> keys(keys_.exchange(nullptr));
}

void Loader::open(const LoaderRequest& request, const Events& events) {
  if (request.open_instead) return open_set(request, events);
  if (!is_manifest(paths_.manifest)) {
    if (files_of_set(request.path)) return open_set(request, events);
    const Place place = look_at(request.path);
    if (const auto file = file_of_path(request.path)) return open_file(request, *file, events);
    throw not_a_dataset(request.path, place);
  }
  refuse_file_options(request.path, kOwnDataset, request.index_folder, request.parsing);
  open_manifest_of(request);
  refuse_set_index(manifest(), request.path);
}

void Loader::open_manifest_of(const LoaderRequest& request) {
  stamp_ = stamp_of(paths_.manifest).value_or(FileStamp{});
  const InputFile manifest_file(paths_.manifest);
  outline_ = read_manifest_outline(manifest_file);
  self_hash_ = self_hash_of(manifest_file);
  content_hash_ = is_file_set(manifest()) ? manifest().source.fingerprint.hex() : self_hash_;
  if (!request.opened_before.empty() && request.opened_before != content_hash_)
    leave_out_appended(request.opened_before);
}

// What was there when the manifest had that hash.
void Loader::leave_out_appended(const std::string& self_hash) {
  Manifest& manifest = outline_.manifest;
  std::uint64_t samples = 0, shards = 0;
  for (const ManifestRun& run : manifest.runs) {
    if (run.after.hex() == self_hash) {
      manifest.digest.samples = samples;
      outline_.shards.resize(shards);
      return;
    }
    samples += run.samples;
    shards += run.shards;
  }
  throw replaced_dataset(paths_.manifest);
}

void Loader::open_set(const LoaderRequest& request, const Events& events) {
  stamp_ = stamp_of(request.path).value_or(FileStamp{});
  const bool adds_checksums = !request.index_folder.empty() && request.proof == Proof::all;
  OpenedDataset set = open_and_index_set({.path = request.path,
                                          .index_folder = request.index_folder,
                                          .parsing = request.parsing,
                                          .with_checksums = adds_checksums,
                                          .generator = request.generator,
                                          .trusts_sizes = true,
                                          .open_instead = request.open_instead},
                                         events);
  notes_ = std::move(set.notes);
  file_states_ = std::move(set.file_states);
  if (!request.open_instead && is_manifest(set.paths.manifest)) {
    paths_ = std::move(set.paths);
    return open_manifest_of(request);
  }
  self_hash_ = content_hash_ = set.manifest.source.fingerprint.hex();
  if (!request.opened_before.empty() && request.opened_before != self_hash_)
    throw replaced_dataset(request.path);
  file_ = request.path;
  paths_ = std::move(set.paths);
  for (const ManifestShard& shard : set.shards) held_shards_.push_back(shard);
  outline_ = {std::move(set.manifest), lines_of(held_shards_)};
  memory_ = std::move(set.temporary_index);
}

void Loader::open_file(const LoaderRequest& request, const std::string& file,
                       const Events& events) {
  ForeignRequest indexing{.file = file,
                          .index_folder = request.index_folder,
                          .parsing = request.parsing,
                          .with_checksums = request.proof == Proof::all,
                          .generator = request.generator,
                          .keeps_fresh = true};
  paths_ = paths_of_index(file, request.index_folder);
  // It may have come to its name since.
  if (!is_manifest(paths_.manifest)) paths_ = paths_of_index(file, request.index_folder);
  file_ = file;
  stamp_ = stamp_of(file).value_or(FileStamp{});
  if (!request.index_folder.empty()) {
    notes_ = index_file(indexing, events).notes;
    paths_ = paths_of_index(file, request.index_folder);  // it may be another process that made it
  } else if (!is_manifest(paths_.manifest)) {
    NamelessIndex index = index_without_name(indexing, events);
    paths_ = std::move(index.paths);
    outline_ = {std::move(index.manifest), {{0, index.shard.digest.samples, 0, 0}}};
    held_shards_ = {std::move(index.shard)};
    notes_ = std::move(index.notes);
    memory_ = std::move(index.files);
    return;
  }
  const InputFile manifest_file(paths_.manifest);
  outline_ = read_manifest_outline(manifest_file);
  self_hash_ = content_hash_ = self_hash_of(manifest_file);
  std::optional<ManifestShard> only;
  if (outline_.shards.size() == 1) only = read_shard_line(manifest_file, outline_, 0);
  if (const auto change = change_of_indexed(InputFile(file), manifest(), only))
    throw stale_index(file, request.index_folder, manifest(), *change);
  if (request.parsing.is_given() && !is_parsed_so(manifest().layout, request.parsing)) {
    throw Error(Code::mismatch, "its index was made with {}, but {} was requested",
                words_of(parsing_of(manifest().layout)), words_of(request.parsing))
        .at(file)
        .hint("pass --index-dir with another folder: an index keeps the --parse it was made with");
  }
}

LoaderState& Loader::state() const {
  LoaderState* current = state_.load();
  if (current != nullptr && current->process() == ::getpid()) return *current;
  auto fresh = std::make_unique<LoaderState>(LoaderState::Setting{
      .paths = paths_,
      .outline = outline_,
      .self_hash = self_hash_,
      .held_shards = held_shards_,
      .file_states = file_states_,
      .file = file_,
      .stamp = stamp_,
      .cache = cache_,
      .proves_indexes = proof_ != Proof::none,
      .proves_blocks = proof_ == Proof::all && !manifest().layout.rows.has_value_checksums()});
  if (state_.compare_exchange_strong(current, fresh.get())) {
    if (current != nullptr) current->abandon();  // never freed: it may be in any condition
    return *fresh.release();
  }
  return *state_.load();
}

std::uint64_t Loader::shard_of(std::uint64_t row) const {
  if (row >= size()) {
    throw Error(Code::not_found, "row {} requested, but the dataset has {}", row, size())
        .at(paths_.manifest);
  }
  const auto after = std::upper_bound(
      outline_.shards.begin(), outline_.shards.end(), row,
      [](std::uint64_t wanted, const ShardLine& line) { return wanted < line.first_row; });
  return static_cast<std::uint64_t>(after - outline_.shards.begin()) - 1;
}

std::string Loader::shard_name_of(std::uint64_t row) const {
  return state().facts_of(shard_of(row)).name;
}

ManifestShard Loader::shard_facts(std::uint64_t number) const { return state().facts_of(number); }

std::string Loader::key_of(std::uint64_t row) const {
  if (!manifest().layout.has_keys) return std::to_string(row);
  const std::vector<LocatedSample> sample = locate({&row, 1});
  std::string key(bytes_of_value(sample[0], std::nullopt), '\0');
  const Fetch fetch_key{&sample[0], std::nullopt, std::as_writable_bytes(std::span(key))};
  if (!key.empty()) fetch({&fetch_key, 1});
  return key;
}

// Looks for replaced files when the work is done, so that nothing read in the meantime is handed
// out, and before any other error: what looks like damage then is not.
void Loader::watching(const std::function<void()>& work) const {
  try {
    work();
  } catch (const Error&) {
    state().refuse_changes();
    throw;
  }
  state().refuse_changes();
}

std::vector<LocatedSample> Loader::locate(std::span<const std::uint64_t> rows,
                                          const std::vector<bool>& wanted) const {
  std::vector<LocatedSample> samples(rows.size());
  watching([&] {
    std::vector<LocatedSample*> order;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      samples[i].row = rows[i];
      order.push_back(&samples[i]);
    }
    std::sort(order.begin(), order.end(), [](auto a, auto b) { return a->row < b->row; });
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      const std::uint64_t number = shard_of(order[begin]->row);
      const ShardLine& line = outline_.shards[number];
      for (; end < order.size() && order[end]->row - line.first_row < line.samples; ++end) {
        order[end]->shard = number;
        order[end]->shard_row = order[end]->row - line.first_row;
      }
      locate_in_shard(std::span(order).subspan(begin, end - begin), wanted);
    }
  });
  return samples;
}

void Loader::locate_in_shard(std::span<LocatedSample* const> samples,
                             const std::vector<bool>& wanted) const try {
  LoaderState& open = state();
  const OpenShardPointer shard = open.shard(samples.front()->shard);
  const ShardReader& reader = shard->reader;
  if (reader.index_file() == nullptr)
    return locate_fixed_rows(samples, wanted, *shard, manifest().schema, open);
  const std::uint64_t row_bytes = reader.columns().row_bytes();
  std::vector<std::byte> bytes(samples.size() * row_bytes);
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    extents.push_back({reader.index_file(), reader.columns().file_bytes(samples[i]->shard_row),
                       std::span(bytes).subspan(i * row_bytes, row_bytes)});
  }
  if (extents.size() == 1) {
    read_extent(extents[0]);
  } else {
    const LoaderState::ReadLease context = open.take_context();
    read_extents(extents, context->reader, context->arena);
  }
  if (!open.keeps_index_cached()) drop_cache(extents);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i]->place = reader.columns().decode(extents[i].into);
    check_places(*samples[i], reader, manifest());
    samples[i]->place.elements = reader.elements_of(samples[i]->place);
  }
} catch (Error& error) {
  // Where the whole shard cannot be read, the first sample requested from it stands for all.
  if (!error.sample()) error.for_sample({}, samples.front()->row);
  throw;
}

std::uint64_t Loader::bytes_of_value(const LocatedSample& sample,
                                     std::optional<std::size_t> field) {
  return place_of(sample, field).length;
}

void Loader::fetch(std::span<const Fetch> fetches) const {
  watching([&] { fetch_all(fetches); });
}

void Loader::fetch_all(std::span<const Fetch> fetches) const {
  LoaderState& open = state();
  const auto position = [](const Fetch* fetch) {
    return std::pair(fetch->sample->shard, fetch->place().offset);
  };
  std::vector<const Fetch*> order;
  for (const Fetch& fetch : fetches) order.push_back(&fetch);
  std::sort(order.begin(), order.end(),
            [&](const Fetch* a, const Fetch* b) { return position(a) < position(b); });
  std::vector<OpenShardPointer> shards;
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < order.size();) {
    tasks.clear();
    shards.clear();
    std::uint64_t number = 0;
    for (; i < order.size(); ++i) {
      const Fetch& fetch = *order[i];
      if (shards.empty() || fetch.sample->shard != number) {
        OpenShardPointer shard =
            shards.empty() ? open.shard(fetch.sample->shard) : open.try_shard(fetch.sample->shard);
        if (shard == nullptr) break;
        number = fetch.sample->shard;
        shards.push_back(std::move(shard));
      }
      const ShardReader& reader = shards.back()->reader;
      tasks.push_back({&fetch,
                       fetch.field ? &reader.file_of_field(*fetch.field) : &reader.file_of_key(),
                       shards.back().get()});
    }
    try {
      std::stable_sort(tasks.begin(), tasks.end(),
                       [](const Task& a, const Task& b) { return a.file < b.file; });
      read_tasks(tasks, open);
      if (!proves_crc32c()) continue;
      for (const Task& task : tasks) prove_checksum(task);
    } catch (Error& error) {
      const Task* about = nullptr;
      for (const Task& task : tasks) {
        if (task.file->path() == error.file() && holds(task, error.offset())) about = &task;
      }
      if (about != nullptr) add_place(error, *this, *about->fetch->sample, about->fetch->field);
      throw;
    }
  }
}

std::vector<std::optional<OpenValue>> Loader::open_values(std::span<const std::uint64_t> rows,
                                                          std::size_t field) const {
  const Field& described = manifest().schema.fields[field];
  if (described.kind != Kind::bytes) {
    throw Error(Code::unsupported, "field '{}' is of kind {}, and only bytes are read as a file",
                printable(described.name), name_of(described.kind))
        .at(paths_.manifest);
  }
  std::vector<LocatedSample> samples =
      locate(rows, std::vector<bool>(manifest().schema.fields.size()));
  std::vector<std::optional<OpenValue>> values;
  std::map<std::uint64_t, std::shared_ptr<const BlockHashes>> blocks;  // by shard
  for (LocatedSample& sample : samples) {
    const FieldPlace place = place_of(sample, field);
    if (place.offset == kMissing) {
      values.emplace_back();
      continue;
    }
    OpenValue value{
        .sample = std::move(sample), .field = field, .bytes = place.length, .blocks = {}};
    if (proof_ == Proof::all) {
      std::shared_ptr<const BlockHashes>& of_shard = blocks[value.sample.shard];
      if (of_shard == nullptr) {
        const ManifestShard facts = state().facts_of(value.sample.shard);
        if (!facts.blocks.name.empty()) of_shard = std::make_shared<BlockHashes>(paths_, facts);
      }
      value.blocks = of_shard;
      if (of_shard == nullptr) prove_value(value, place.crc32c);
    }
    values.push_back(std::move(value));
  }
  return values;
}

void Loader::prove_value(const OpenValue& value, std::uint32_t expected) const {
  std::vector<std::byte> piece(std::min<std::uint64_t>(value.bytes, 1 << 20));
  std::uint32_t found = 0;
  for (std::uint64_t begin = 0; begin < value.bytes; begin += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece.size(), value.bytes - begin));
    read_piece(value, begin, piece);
    found = crc32c(piece, found);
  }
  if (found == expected) return;
  Error error = checksum_mismatch(value.bytes, found, expected).error();
  error.hint("run 'shale verify' to list all the damage");
  add_place(error, *this, value.sample, value.field);
  throw error;
}

void Loader::read_piece(const OpenValue& value, std::uint64_t begin,
                        std::span<std::byte> into) const {
  if (begin > value.bytes || into.size() > value.bytes - begin)
    throw Error(Code::bug, "{} bytes from {} of a value of {}", into.size(), begin, value.bytes);
  if (into.empty()) return;
  watching([&] {
    LoaderState& open = state();
    const OpenShardPointer shard = open.shard(value.sample.shard);
    const InputFile& file = shard->reader.file_of_field(value.field);
    Extent extent = shard->extent(file, place_of(value.sample, value.field).offset + begin, into);
    if (value.blocks != nullptr)
      extent.blocks =
          value.blocks->of_file(static_cast<std::size_t>(&file - shard->reader.files().data()));
    try {
      open.read({&extent, 1}, shard->is_direct);
    } catch (Error& error) {
      if (error.file() == file.path()) error.for_sample({}, value.sample.row);
      throw;
    }
  });
}

std::vector<FieldPlace> Loader::elements(const LocatedSample& sample, std::size_t field,
                                         std::span<const std::uint64_t> numbers) const {
  const FieldPlace& list = sample.place.cells[field].place;
  if (numbers.empty()) return {};
  const auto [least, most] = std::ranges::minmax(numbers);
  if (list.offset == kMissing || most >= list.count) {
    throw no_such_element(most, manifest().schema.fields[field].name, list.count)
        .for_sample({}, sample.row);
  }
  std::vector<FieldPlace> run;
  std::uint64_t first = least;
  const OpenShardPointer shard = state().shard(sample.shard);
  if (const ElementReader* listed = shard->reader.elements()) {
    run = listed->read(list.first + least, most - least + 1);
    for (const FieldPlace& element : run) {
      if (is_inside(element, list)) continue;
      throw element_outside(element, list)
          .at(shard->reader.shard().elements.name)
          .hint("run 'shale verify' to list all the damage");
    }
  } else {
    std::vector<std::byte> extent(list.length);
    const Fetch whole{&sample, field, extent};
    fetch({&whole, 1});
    run = walked(format_of(manifest()), list, extent);
    first = 0;
  }
  std::vector<FieldPlace> places;
  places.reserve(numbers.size());
  for (const std::uint64_t number : numbers) places.push_back(run[number - first]);
  return places;
}

std::optional<ValueLocation> Loader::location_of(const LocatedSample& sample,
                                                 std::optional<std::size_t> field) const try {
  const OpenShardPointer shard = state().shard(sample.shard);
  const ShardReader& reader = shard->reader;
  const InputFile& file = field ? reader.file_of_field(*field) : reader.file_of_key();
  return ValueLocation{file.path(), place_of(sample, field).offset};
} catch (const Error&) {
  return std::nullopt;  // the error at hand is worth more
}

Error no_such_field(std::string_view name) {
  return Error(Code::not_found, "the dataset has no field '{}'", printable(name));
}

Error wrong_tensor_bytes(const Loader& loader, const LocatedSample& sample,
                         std::optional<std::size_t> field, std::uint64_t found,
                         std::uint64_t expected) {
  Error error(Code::damaged, "tensor has {} bytes, but its dtype and shape make {}", found,
              expected);
  add_place(error, loader, sample, field);
  return error.hint(loader.hint_of_index(sample.shard));
}

void add_place(Error& error, const Loader& loader, const LocatedSample& sample,
               std::optional<std::size_t> field) {
  if (const std::optional<ValueLocation> location = loader.location_of(sample, field))
    error.at(location->file, location->offset).for_sample({}, sample.row);
}

void Loader::for_each_hashes(const Events& events, const HashSink& act) const {
  const ColumnPlace hashes = column("key_hash");
  std::vector<std::uint64_t> chunk;
  for (std::uint64_t begin = 0; begin < size(); begin += chunk.size()) {
    chunk.resize(std::min(kKeysAtOnce, size() - begin));
    read_column(hashes, begin, std::as_writable_bytes(std::span(chunk)));
    if (act(begin, chunk)) return;
    events.stop_if_asked();
  }
}

const Loader::KeyTable& Loader::key_table(const Events& events) const {
  if (const KeyTable* table = keys_.load()) return *table;
  auto made = std::make_unique<KeyTable>();
  made->reserve(size());
  for_each_hashes(events, [&](std::uint64_t row, std::span<const std::uint64_t> hashes) {
    for (const std::uint64_t hash : hashes) made->emplace_back(hash, row++);
    return false;
  });
  std::ranges::sort(*made);
  const KeyTable* none = nullptr;
  // Two threads may have made one each: the first is kept.
  if (keys_.compare_exchange_strong(none, made.get())) return *made.release();
  return *none;
}

std::optional<std::uint64_t> Loader::find(std::string_view key, const Events& events) const {
  if (!manifest().layout.has_keys) return row_of_number(key, size());
  const std::uint64_t hash = xxh3_64(as_bytes(key));
  if (size() <= kMostKeptKeys) {
    const KeyTable& rows = key_table(events);
    for (auto found = std::lower_bound(rows.begin(), rows.end(), std::pair(hash, std::uint64_t{0}));
         found != rows.end() && found->first == hash; ++found) {
      if (key_of(found->second) == key) return found->second;
    }
    return std::nullopt;
  }
  std::optional<std::uint64_t> found;
  for_each_hashes(events, [&](std::uint64_t row, std::span<const std::uint64_t> hashes) {
    for (std::size_t i = 0; i < hashes.size() && !found; ++i) {
      if (hashes[i] == hash && key_of(row + i) == key) found = row + i;
    }
    return found.has_value();
  });
  return found;
}

std::string_view Loader::io_backend() {
  return BatchReader({.depth = 1, .threads = 1}).backend() == BatchReader::Backend::io_uring
             ? "io_uring"
             : "threads";
}

}  // namespace shale
